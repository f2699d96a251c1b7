// Every op of the table has an emission, and what is written is laid out as clang-format would leave it.
#include "absl/strings/str_cat.h"
#include "codegen/source/expressions.h"
#include "codegen/source/kernels.h"
#include "codegen/source/settings.h"
#include "gtest/gtest.h"
#include "ir/fuse/fuse.h"
#include "ir/ops/ops.h"

namespace cleave {
namespace {

TEST(Emission, EveryOpIsASourceAnExpressionOrACall) {
  for (const OpDefinition* op : AllOps()) {
    const bool source = op->op_class == OpClass::kSource;
    const int ways = HasExpression(op->name) + HasKernel(*op) + source;
    // A communication of a manual model is no computation of a rank: it becomes a collective of the program.
    EXPECT_EQ(ways, op->rank_use == RankUse::kOthers ? 0 : 1) << "`" << op->name << "` has " << ways << " emissions";
  }
}

TEST(Emission, WhatFusionPutsIntoLoopsHasAnExpression) {
  for (const OpDefinition* op : AllOps()) EXPECT_EQ(HasExpression(op->name), CanBeLooped(*op)) << op->name;
}

TEST(Expressions, KeepTheOrderOfOperations) {
  const auto text = [](const std::string& kind, const std::vector<Expression>& arguments, Attributes attributes = {}) {
    Program program;
    for (size_t i = 0; i <= arguments.size(); ++i) {
      program.values.push_back({.name = "v", .type = {DType::kF32, {4}}, .layout = Layout::Replicated(1)});
    }
    Compute compute{.op = OpId(0), .kind = kind, .attributes = attributes, .inputs = {}, .output = ValueId(0)};
    for (size_t i = 0; i < arguments.size(); ++i) compute.inputs.push_back(ValueId(static_cast<int64_t>(i) + 1));
    return ElementExpression(program, compute, arguments).text;
  };
  const Expression sum = {"a + b", Binding::kSum};
  const Expression product = {"a * b", Binding::kProduct};
  const Expression x = {"x"};
  EXPECT_EQ(text("add", {sum, x}), "a + b + x");
  EXPECT_EQ(text("add", {x, sum}), "x + (a + b)");
  EXPECT_EQ(text("mul", {sum, x}), "(a + b) * x");
  EXPECT_EQ(text("div", {x, product}), "x / (a * b)");
  EXPECT_EQ(text("sub", {x, product}), "x - a * b");
  EXPECT_EQ(text("neg", {sum}), "-(a + b)");
  EXPECT_EQ(text("neg", {{"-x", Binding::kUnary}}), "-(-x)");
  EXPECT_EQ(text("relu", {sum}), "Relu(a + b)");
  EXPECT_EQ(text("equal", {sum, x}), "a + b == x ? 1.0f : 0.0f");
  EXPECT_EQ(text("less_equal", {product, x}), "a * b <= x ? 1.0f : 0.0f");
  EXPECT_EQ(text("mul", {x, {"a > b ? 1.0f : 0.0f", Binding::kConditional}}), "x * (a > b ? 1.0f : 0.0f)");
  EXPECT_EQ(text("where", {sum, x, product}), "a + b != 0.0f ? x : a * b");
  EXPECT_EQ(text("where", {{"a > b ? 1.0f : 0.0f", Binding::kConditional, "a > b"}, x, {"0.0f"}}), "a > b ? x : 0.0f");
  EXPECT_EQ(text("clamp", {sum}, {{{"low", -1.0}, {"high", 0.5}}}), "Clamp(a + b, -1.0f, 0.5f)");
  EXPECT_EQ(text("leaky_relu", {x}, {{{"slope", 0.25}}}), "LeakyRelu(x, 0.25f)");
  EXPECT_EQ(text("maximum", {x, sum}), "Maximum(x, a + b)");
  EXPECT_EQ(text("power", {sum}, {{{"exponent", 1.0}}}), "a + b");
  EXPECT_EQ(text("power", {x}, {{{"exponent", -3.0}}}), "Power<-3>(x)");
  EXPECT_EQ(text("power", {x}, {{{"exponent", 0.5}}}), "std::sqrt(x)");
  EXPECT_EQ(text("power", {x}, {{{"exponent", 2.5}}}), "std::pow(x, 2.5f)");
  EXPECT_EQ(text("scale", {sum}, {{{"factor", 0.5}}}), "0.5f * (a + b)");
  EXPECT_EQ(text("scale", {x}, {{{"factor", -2.0}}}), "-2.0f * x");
  EXPECT_EQ(text("mse_gradient", {x, sum, {"g"}}), "2.0f * (x - (a + b)) * g / 4.0f");
  EXPECT_EQ(text("mae_gradient", {x, sum, {"g"}}), "Sign(x - (a + b)) * g / 4.0f");
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
