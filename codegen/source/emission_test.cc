// Every op of the table has an emission, and its text has the layout of clang-format.
#include "absl/strings/str_cat.h"
#include "codegen/source/elements.h"
#include "codegen/source/formulas.h"
#include "codegen/source/kernels.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/fuse.h"

namespace cleave::codegen {
namespace {

TEST(Emission, EveryOpIsASourceAnExpressionACallOrAPartOfAttention) {
  for (const ir::OpDefinition* op : ir::AllOps()) {
    const bool source = op->op_class == ir::OpClass::kSource;
    const int ways = IsElementwise(op->kind) + HasKernel(*op) + source + ir::IsOfAttention(op->kind);
    // A communication of a manual model is not computed by a rank: it becomes a collective of the program.
    EXPECT_EQ(ways, op->rank_use == ir::RankUse::kOthers ? 0 : 1)
        << "`" << op->kind << "` has " << ways << " emissions";
  }
}

TEST(Emission, WhatFusionPutsIntoLoopsHasAnExpression) {
  for (const ir::OpDefinition* op : ir::AllOps()) EXPECT_EQ(IsElementwise(op->kind), ir::CanBeLooped(*op)) << op->kind;
}

// The text of an op's value, and of the functions that it calls.
struct Written {
  std::string text;
  std::string functions;
};

Written Write(ir::OpKind kind, const std::vector<cpp::Expr>& arguments, ir::Attributes attributes = {}) {
  ir::Program program;
  for (size_t i = 0; i <= arguments.size(); ++i) {
    program.values.push_back({.name = "v", .type = {ir::DType::kF32, {4}}, .layout = ir::Layout::Replicated(1)});
  }
  ir::Compute compute{
      .op = ir::OpId(0), .kind = kind, .attributes = attributes, .inputs = {}, .output = ir::ValueId(0)};
  for (size_t i = 0; i < arguments.size(); ++i) compute.inputs.push_back(ir::ValueId(static_cast<int64_t>(i) + 1));
  ElementFunctions functions;
  std::string text = ElementValue(program, compute, arguments, functions).Text();
  return {text, functions.definitions().Text()};
}

TEST(ElementValue, KeepsTheOrderOfOperations) {
  const auto text = [](ir::OpKind kind, const std::vector<cpp::Expr>& arguments, ir::Attributes attributes = {}) {
    return Write(kind, arguments, attributes).text;
  };
  const cpp::Expr a = cpp::Name("a"), b = cpp::Name("b"), x = cpp::Name("x");
  const cpp::Expr sum = a + b, product = a * b;
  const cpp::Expr greater = cpp::Choice(cpp::Infix(a, ">", b), cpp::Float(1), cpp::Float(0));
  EXPECT_EQ(text(ir::OpKind::kAdd, {sum, x}), "a + b + x");
  EXPECT_EQ(text(ir::OpKind::kAdd, {x, sum}), "x + (a + b)");
  EXPECT_EQ(text(ir::OpKind::kMul, {sum, x}), "(a + b) * x");
  EXPECT_EQ(text(ir::OpKind::kDiv, {x, product}), "x / (a * b)");
  EXPECT_EQ(text(ir::OpKind::kSub, {x, product}), "x - a * b");
  EXPECT_EQ(text(ir::OpKind::kNeg, {sum}), "-(a + b)");
  EXPECT_EQ(text(ir::OpKind::kNeg, {-x}), "-(-x)");
  EXPECT_EQ(text(ir::OpKind::kRelu, {sum}), "Maximum(a + b, 0.0f)");
  EXPECT_EQ(text(ir::OpKind::kEqual, {sum, x}), "a + b == x ? 1.0f : 0.0f");
  EXPECT_EQ(text(ir::OpKind::kLessEqual, {product, x}), "a * b <= x ? 1.0f : 0.0f");
  EXPECT_EQ(text(ir::OpKind::kMul, {x, greater}), "x * (a > b ? 1.0f : 0.0f)");
  EXPECT_EQ(text(ir::OpKind::kWhere, {sum, x, product}), "a + b != 0.0f ? x : a * b");
  EXPECT_EQ(text(ir::OpKind::kWhere, {greater, x, cpp::Float(0)}), "a > b ? x : 0.0f");
  EXPECT_EQ(text(ir::OpKind::kClamp, {sum}, {{ir::attribute::kLow, -1.0}, {ir::attribute::kHigh, 0.5}}),
            "Clamp(a + b, -1.0f, 0.5f)");
  EXPECT_EQ(text(ir::OpKind::kLeakyRelu, {x}, {{ir::attribute::kSlope, 0.25}}), "LeakyRelu(x, 0.25f)");
  EXPECT_EQ(text(ir::OpKind::kMaximum, {x, sum}), "Maximum(x, a + b)");
  EXPECT_EQ(text(ir::OpKind::kPower, {sum}, {{ir::attribute::kExponent, 1.0}}), "a + b");
  EXPECT_EQ(text(ir::OpKind::kPower, {x}, {{ir::attribute::kExponent, -3.0}}), "Power<-3>(x)");
  EXPECT_EQ(text(ir::OpKind::kPower, {x}, {{ir::attribute::kExponent, 0.5}}), "std::sqrt(x)");
  EXPECT_EQ(text(ir::OpKind::kPower, {x}, {{ir::attribute::kExponent, 2.5}}), "std::pow(x, 2.5f)");
  EXPECT_EQ(text(ir::OpKind::kScale, {sum}, {{ir::attribute::kFactor, 0.5}}), "0.5f * (a + b)");
  EXPECT_EQ(text(ir::OpKind::kScale, {x}, {{ir::attribute::kFactor, -2.0}}), "-2.0f * x");
  EXPECT_EQ(text(ir::OpKind::kMseGradient, {x, sum, cpp::Name("g")}), "MseGradient(x, a + b, g, 4.0f)");
}

TEST(ElementValue, FunctionsAreWrittenAfterWhatTheyCall) {
  EXPECT_EQ(Write(ir::OpKind::kNeg, {cpp::Name("x")}).functions, "");
  EXPECT_EQ(Write(ir::OpKind::kSquare, {cpp::Name("x")}).functions,
            "CLEAVE_PORTABLE inline float Square(float x) { return x * x; }\n");
  EXPECT_EQ(
      Write(ir::OpKind::kGeluGradient, {cpp::Name("dy"), cpp::Name("x")}).functions,
      "CLEAVE_PORTABLE inline float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }\n"
      "CLEAVE_PORTABLE inline float GeluGradient(float dy, float x) {\n"
      "  const float sigmoid = Sigmoid(1.5957692f * (x + 0.044715f * x * x * x));\n"
      "  return dy * (sigmoid + x * sigmoid * (1.0f - sigmoid) * 1.5957692f * (1.0f + 3.0f * 0.044715f * x * x));\n"
      "}\n");
}

TEST(Formulas, IsWrittenAsItIsComputed) {
  const auto text = [](const std::string& formula) {
    return FormulaExpr(*ir::ParseScalar(formula), {.step = cpp::Name("t")}).Text();
  };
  EXPECT_EQ(text("0.05"), "0.05");
  EXPECT_EQ(text("div(1.0, sub(1.0, pow(0.9, step)))"), "1.0 / (1.0 - std::pow(0.9, t))");
  EXPECT_EQ(text("mul(0.1, minimum(1.0, div(step, 5.0)))"), "0.1 * std::min(1.0, t / 5.0)");
  EXPECT_EQ(text("where(less(step, 7.0), neg(-1.0), sub(step, sub(step, 1.0)))"), "t < 7.0 ? -(-1.0) : t - (t - 1.0)");
  EXPECT_EQ(text("less(step, 7.0)"), "t < 7.0 ? 1.0 : 0.0");
  EXPECT_EQ(text("optimizer.beta1=0.9"), "0.9");
  const FormulaNames names{.step = cpp::Name("t"), .numbers = {{"optimizer.beta1", "optimizer_beta1"}}};
  EXPECT_EQ(FormulaExpr(*ir::ParseScalar("pow(optimizer.beta1=0.9, step)"), names).Text(),
            "std::pow(optimizer_beta1, t)");
  EXPECT_EQ(FormulaCondition(*ir::ParseScalar("less(optimizer.beta1=0.9, 1.0)"), names).Text(),
            "optimizer_beta1 < 1.0");
  EXPECT_EQ(FormulaCondition(*ir::ParseScalar("where(step, 1.0, 0.0)"), names).Text(), "t != 0.0");
  const cpp::Code statements =
      FormulaStatements(*ir::ParseScalar("add(mul(0.123456789, minimum(1.0, div(step, 123456789.0))), "
                                         "mul(0.123456789, minimum(1.0, div(step, 123456789.0))))"),
                        {.step = cpp::Name("step")});
  EXPECT_EQ(statements.Text(),
            "const double term1 = 0.123456789 * std::min(1.0, step / 123456789.0);\n"
            "return term1 + 0.123456789 * std::min(1.0, step / 123456789.0);\n");
}

}  // namespace
}  // namespace cleave::codegen
