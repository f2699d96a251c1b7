// Every op of the table has an emission, and its text has the layout of clang-format.
#include "absl/strings/str_cat.h"
#include "codegen/source/element_text.h"
#include "codegen/source/kernels.h"
#include "codegen/source/settings.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/fuse.h"

namespace cleave {
namespace {

TEST(Emission, EveryOpIsASourceAnExpressionOrACall) {
  for (const OpDefinition* op : AllOps()) {
    const bool source = op->op_class == OpClass::kSource;
    const int ways = HasElementText(op->kind) + HasKernel(*op) + source;
    // A communication of a manual model is no computation of a rank: it becomes a collective of the program.
    EXPECT_EQ(ways, op->rank_use == RankUse::kOthers ? 0 : 1) << "`" << op->kind << "` has " << ways << " emissions";
  }
}

TEST(Emission, WhatFusionPutsIntoLoopsHasAnExpression) {
  for (const OpDefinition* op : AllOps()) EXPECT_EQ(HasElementText(op->kind), CanBeLooped(*op)) << op->kind;
}

// The text of an op's value, and what it calls.
struct Written {
  std::string text;
  std::string functions;
};

Written Write(OpKind kind, const std::vector<ElementText>& arguments, Attributes attributes = {}) {
  Program program;
  for (size_t i = 0; i <= arguments.size(); ++i) {
    program.values.push_back({.name = "v", .type = {DType::kF32, {4}}, .layout = Layout::Replicated(1)});
  }
  Compute compute{.op = OpId(0), .kind = kind, .attributes = attributes, .inputs = {}, .output = ValueId(0)};
  for (size_t i = 0; i < arguments.size(); ++i) compute.inputs.push_back(ValueId(static_cast<int64_t>(i) + 1));
  ElementFunctions functions;
  std::string text = ElementValue(program, compute, arguments, functions).text;
  return {text, functions.definitions().text()};
}

TEST(ElementText, KeepsTheOrderOfOperations) {
  const auto text = [](OpKind kind, const std::vector<ElementText>& arguments, Attributes attributes = {}) {
    return Write(kind, arguments, attributes).text;
  };
  const ElementText sum = {"a + b", Binding::kSum};
  const ElementText product = {"a * b", Binding::kProduct};
  const ElementText x = {"x"};
  EXPECT_EQ(text(OpKind::kAdd, {sum, x}), "a + b + x");
  EXPECT_EQ(text(OpKind::kAdd, {x, sum}), "x + (a + b)");
  EXPECT_EQ(text(OpKind::kMul, {sum, x}), "(a + b) * x");
  EXPECT_EQ(text(OpKind::kDiv, {x, product}), "x / (a * b)");
  EXPECT_EQ(text(OpKind::kSub, {x, product}), "x - a * b");
  EXPECT_EQ(text(OpKind::kNeg, {sum}), "-(a + b)");
  EXPECT_EQ(text(OpKind::kNeg, {{"-x", Binding::kUnary}}), "-(-x)");
  EXPECT_EQ(text(OpKind::kRelu, {sum}), "Maximum(a + b, 0.0f)");
  EXPECT_EQ(text(OpKind::kEqual, {sum, x}), "a + b == x ? 1.0f : 0.0f");
  EXPECT_EQ(text(OpKind::kLessEqual, {product, x}), "a * b <= x ? 1.0f : 0.0f");
  EXPECT_EQ(text(OpKind::kMul, {x, {"a > b ? 1.0f : 0.0f", Binding::kConditional}}), "x * (a > b ? 1.0f : 0.0f)");
  EXPECT_EQ(text(OpKind::kWhere, {sum, x, product}), "a + b != 0.0f ? x : a * b");
  EXPECT_EQ(text(OpKind::kWhere, {{"a > b ? 1.0f : 0.0f", Binding::kConditional, "a > b"}, x, {"0.0f"}}),
            "a > b ? x : 0.0f");
  EXPECT_EQ(text(OpKind::kClamp, {sum}, {{attribute::kLow, -1.0}, {attribute::kHigh, 0.5}}),
            "Clamp(a + b, -1.0f, 0.5f)");
  EXPECT_EQ(text(OpKind::kLeakyRelu, {x}, {{attribute::kSlope, 0.25}}), "LeakyRelu(x, 0.25f)");
  EXPECT_EQ(text(OpKind::kMaximum, {x, sum}), "Maximum(x, a + b)");
  EXPECT_EQ(text(OpKind::kPower, {sum}, {{attribute::kExponent, 1.0}}), "a + b");
  EXPECT_EQ(text(OpKind::kPower, {x}, {{attribute::kExponent, -3.0}}), "Power<-3>(x)");
  EXPECT_EQ(text(OpKind::kPower, {x}, {{attribute::kExponent, 0.5}}), "std::sqrt(x)");
  EXPECT_EQ(text(OpKind::kPower, {x}, {{attribute::kExponent, 2.5}}), "std::pow(x, 2.5f)");
  EXPECT_EQ(text(OpKind::kScale, {sum}, {{attribute::kFactor, 0.5}}), "0.5f * (a + b)");
  EXPECT_EQ(text(OpKind::kScale, {x}, {{attribute::kFactor, -2.0}}), "-2.0f * x");
  EXPECT_EQ(text(OpKind::kMseGradient, {x, sum, {"g"}}), "MseGradient(x, a + b, g, 4.0f)");
}

TEST(ElementText, FunctionsAreWrittenAfterWhatTheyCall) {
  EXPECT_EQ(Write(OpKind::kNeg, {{"x"}}).functions, "");
  EXPECT_EQ(Write(OpKind::kSquare, {{"x"}}).functions,
            "CLEAVE_PORTABLE inline float Square(float x) { return x * x; }\n");
  EXPECT_EQ(
      Write(OpKind::kGeluGradient, {{"dy"}, {"x"}}).functions,
      "CLEAVE_PORTABLE inline float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }\n"
      "CLEAVE_PORTABLE inline float GeluGradient(float dy, float x) {\n"
      "  const float sigmoid = Sigmoid(1.5957692f * (x + 0.044715f * x * x * x));\n"
      "  return dy * (sigmoid + x * sigmoid * (1.0f - sigmoid) * 1.5957692f * (1.0f + 3.0f * 0.044715f * x * x));\n"
      "}\n");
}

TEST(Settings, SchedulesAreWrittenWithWhatTheyUse) {
  EXPECT_EQ(ScheduleText({.rate = 0.05}), "{.form = Schedule::Form::kConstant, .rate = 0.05}");
  EXPECT_EQ(ScheduleText({.form = Schedule::Form::kLinearWarmup, .rate = 1, .warmup_steps = 7}),
            "{.form = Schedule::Form::kLinearWarmup, .rate = 1.0, .warmup_steps = 7}");
  EXPECT_EQ(
      ScheduleText(
          {.form = Schedule::Form::kCosine, .rate = 0.1, .warmup_steps = 7, .total_steps = 90, .final_rate = 0.01}),
      "{.form = Schedule::Form::kCosine, .rate = 0.1, .warmup_steps = 7, .total_steps = 90, .final_rate = 0.01}");
}

}  // namespace
}  // namespace cleave
