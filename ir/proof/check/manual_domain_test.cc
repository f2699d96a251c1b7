// Manual models whose ops have values or slopes only at some places are proven, and wrong gradients are found in them.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"
#include "ir/sharding/plan/plan.h"
#include "ir/testing/optimizers.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

constexpr int64_t kRanks = 4;

// Adds ops as the language would call them.
class Calls {
 public:
  explicit Calls(GraphBuilder& builder) : builder_(builder) {}

  OpId operator()(OpKind kind, std::vector<OpId> inputs, Attributes attributes = {}) {
    return builder_.Add(kind, std::move(inputs), std::move(attributes), std::string(OpKindName(kind)));
  }
  OpId Number(double value) {
    return (*this)(OpKind::kConstant, {}, {{attribute::kShape, Shape{}}, {attribute::kValue, value}});
  }
  OpId Plus(OpId x, double number) { return (*this)(OpKind::kAdd, {x, Number(number)}); }
  OpId Times(OpId x, double number) { return (*this)(OpKind::kMul, {x, Number(number)}); }
  OpId Square(OpId x) { return (*this)(OpKind::kSquare, {x}); }
  OpId Labels() {
    return builder_.Add(OpKind::kInput, {},
                        {{attribute::kShape, Shape{2}}, {attribute::kDType, DType::kI32}, {attribute::kData, "y"}},
                        "y");
  }

 private:
  GraphBuilder& builder_;
};

// What a model computes of `s`, the product of the rank's own rows of an input and a weight: f32[2, 3].
using Expression = std::function<OpId(Calls& call, OpId s)>;

Expression Of(OpKind kind, Attributes attributes = {}) {
  return [kind, attributes](Calls& call, OpId s) { return call(kind, {s}, attributes); };
}
// The op of s + `number`, and of s * s + `number`.
Expression OfSum(OpKind kind, double number) {
  return [kind, number](Calls& call, OpId s) { return call(kind, {call.Plus(s, number)}); };
}
Expression OfSquare(OpKind kind, double number) {
  return [kind, number](Calls& call, OpId s) { return call(kind, {call.Plus(call.Square(s), number)}); };
}

struct NamedExpression {
  std::string name;
  Expression expression;
};

std::vector<NamedExpression> Expressions() {
  const auto one_minus_square = [](Calls& call, OpId s) { return call.Plus(call.Times(call.Square(s), -1), 1); };
  return {
      {"log(s)", Of(OpKind::kLog)},
      {"log(s + 1)", OfSum(OpKind::kLog, 1)},
      {"log(s - 3)", OfSum(OpKind::kLog, -3)},
      {"log(s - 50)", OfSum(OpKind::kLog, -50)},
      {"log(s * s + 1)", OfSquare(OpKind::kLog, 1)},
      {"log(-s)", [](Calls& call, OpId s) { return call(OpKind::kLog, {call.Times(s, -1)}); }},
      {"log(1 - s * s)", [=](Calls& call, OpId s) { return call(OpKind::kLog, {one_minus_square(call, s)}); }},
      {"log(log(s))", [](Calls& call, OpId s) { return call(OpKind::kLog, {call(OpKind::kLog, {s})}); }},
      {"log(relu(s))", [](Calls& call, OpId s) { return call(OpKind::kLog, {call(OpKind::kRelu, {s})}); }},
      {"log(s) + log(5 - s)",
       [](Calls& call, OpId s) {
         const OpId rest = call.Plus(call.Times(s, -1), 5);
         return call(OpKind::kAdd, {call(OpKind::kLog, {s}), call(OpKind::kLog, {rest})});
       }},
      {"sqrt(s)", Of(OpKind::kSqrt)},
      {"sqrt(s - 2)", OfSum(OpKind::kSqrt, -2)},
      {"sqrt(1 - s * s)", [=](Calls& call, OpId s) { return call(OpKind::kSqrt, {one_minus_square(call, s)}); }},
      {"sqrt(relu(s))", [](Calls& call, OpId s) { return call(OpKind::kSqrt, {call(OpKind::kRelu, {s})}); }},
      {"rsqrt(s)", Of(OpKind::kRsqrt)},
      {"rsqrt(s * s + 0.001)", OfSquare(OpKind::kRsqrt, 0.001)},
      {"power(s, 0.5)", Of(OpKind::kPower, {{attribute::kExponent, 0.5}})},
      {"power(s, -1.5)", Of(OpKind::kPower, {{attribute::kExponent, -1.5}})},
      {"power(s, 3)", Of(OpKind::kPower, {{attribute::kExponent, 3.0}})},
      {"pow(s, s)",
       [](Calls& call, OpId s) {
         return call(OpKind::kPow, {s, s});
       }},
      {"1 / s",
       [](Calls& call, OpId s) {
         return call(OpKind::kDiv, {call.Number(1), s});
       }},
      {"s / sqrt(s)",
       [](Calls& call, OpId s) {
         return call(OpKind::kDiv, {s, call(OpKind::kSqrt, {s})});
       }},
      {"exp(exp(s))", [](Calls& call, OpId s) { return call(OpKind::kExp, {call(OpKind::kExp, {s})}); }},
      {"exp(exp(exp(exp(s))))",
       [](Calls& call, OpId s) {
         for (int i = 0; i < 4; ++i) s = call(OpKind::kExp, {s});
         return s;
       }},
      {"abs(s)", Of(OpKind::kAbs)},
      {"relu(s)", Of(OpKind::kRelu)},
      {"leaky_relu(s)", Of(OpKind::kLeakyRelu)},
      {"maximum(s, 0)",
       [](Calls& call, OpId s) {
         return call(OpKind::kMaximum, {s, call.Number(0)});
       }},
      {"minimum(s, 2 s)",
       [](Calls& call, OpId s) {
         return call(OpKind::kMinimum, {s, call.Times(s, 2)});
       }},
      {"maximum(s, s)",
       [](Calls& call, OpId s) {
         return call(OpKind::kMaximum, {s, s});
       }},
      {"clamp(s, -0.5, 0.5)", Of(OpKind::kClamp, {{attribute::kLow, -0.5}, {attribute::kHigh, 0.5}})},
      {"hard_swish(s)", Of(OpKind::kHardSwish)},
      {"celu(s)", Of(OpKind::kCelu)},
      {"softsign(s)", Of(OpKind::kSoftsign)},
      {"reduce_max(s)", Of(OpKind::kReduceMax)},
      {"reduce_min(s)", Of(OpKind::kReduceMin)},
      {"norm", [](Calls& call, OpId s) { return call(OpKind::kSqrt, {call(OpKind::kReduceSum, {call.Square(s)})}); }},
      {"log(softmax(s))", [](Calls& call, OpId s) { return call(OpKind::kLog, {call(OpKind::kSoftmax, {s})}); }},
      {"log_softmax(s)", [](Calls& call, OpId s) { return call.Square(call(OpKind::kLogSoftmax, {s})); }},
      {"cross_entropy(s, y)",
       [](Calls& call, OpId s) {
         return call(OpKind::kCrossEntropy, {s, call.Labels()});
       }},
      {"cross_entropy(log(s), y)",
       [](Calls& call, OpId s) {
         return call(OpKind::kCrossEntropy, {call(OpKind::kLog, {s}), call.Labels()});
       }},
  };
}

struct ManualModel {
  Graph graph;
  Program program;
};

TestOptimizer Sgd() { return {.kind = TestOptimizer::Kind::kSgd, .rate = 0.1}; }

// `spoil` may change the training graph.
ManualModel ModelOf(const Expression& expression, const std::function<void(Graph&)>& spoil) {
  GraphBuilder builder;
  builder.mutable_graph().rank_axes = {{"world", kRanks}};
  const OpId x = builder.Add(OpKind::kInput, {}, {{attribute::kShape, Shape{8, 3}}, {attribute::kData, "x"}}, "x");
  const OpId weight = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{3, 3}}}, "weight");
  const OpId own = builder.Add(
      OpKind::kRankSlice, {x},
      {{attribute::kAxis, 0}, {attribute::kSize, 2}, {attribute::kStarts, std::vector<int64_t>{0, 2, 4, 6}}}, "own");
  Calls call(builder);
  const OpId mean = call(OpKind::kReduceMean, {expression(call, call(OpKind::kMatmul, {own, weight}))});
  builder.mutable_graph().loss =
      call(OpKind::kAllReduce, {mean},
           {{attribute::kGroup, "world"}, {attribute::kSize, kRanks}, {attribute::kReduction, "sum"}});
  Graph graph = *Differentiate(std::move(builder).Build(), Sgd());
  spoil(graph);
  Plan plan{
      .mesh = *Mesh::Create({{.name = "m0", .size = kRanks, .link = "memory", .weight = 1}}), .ops = {}, .search = {}};
  for (const Op& op : graph.ops) {
    plan.ops.push_back(
        {.strategy = Strategy::Replicated(RuleOf(graph, op)), .output = std::nullopt, .reason = "", .choices = {}});
  }
  Program program = *Partition(graph, plan);
  return {std::move(graph), std::move(program)};
}

TEST(ManualDomainTest, ModelsAreProvenWhereTheyHaveValues) {
  for (const auto& [name, expression] : Expressions()) {
    SCOPED_TRACE(name);
    const ManualModel model = ModelOf(expression, [](Graph&) {});
    const absl::StatusOr<ManualReport> report = CheckManual(model.graph, model.program);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->unmeasured, "");
    EXPECT_EQ(report->parameters, 1);
  }
}

// The ranks' contributions to a gradient are multiplied instead of added: every rank computes as the graph says, so
// only the loss shows that the gradient is wrong.
TEST(ManualDomainTest, WrongGradientsAreFound) {
  for (const auto& [name, expression] : Expressions()) {
    SCOPED_TRACE(name);
    const ManualModel model = ModelOf(expression, [](Graph& graph) {
      for (Op& op : graph.ops) {
        const bool is_gradient = op.gradient_of.has_value() && graph.op(*op.gradient_of).kind == OpKind::kParameter;
        if (is_gradient) op.attributes.Set(attribute::kReduction, std::string("prod"));
      }
    });
    const absl::Status found = CheckManual(model.graph, model.program).status();
    EXPECT_NE(found.message().find("the gradients say"), std::string::npos) << found;
  }
}

// No numbers give the first model a loss, and rounding decides the loss of the second. This is said, and it is no bug
// of the compiler.
TEST(ManualDomainTest, WhatCannotBeMeasuredIsSaid) {
  const Expression log_of_negative = [](Calls& call, OpId s) {
    return call(OpKind::kLog, {call.Plus(call.Times(call.Square(s), -1), -1)});
  };
  const Expression cancels = [](Calls& call, OpId s) { return call.Plus(call.Plus(s, 1e9), -1e9); };
  for (const auto& [expression, reason] : {std::pair(log_of_negative, "see `log`"), std::pair(cancels, "not smooth")}) {
    const ManualModel model = ModelOf(expression, [](Graph&) {});
    const absl::StatusOr<ManualReport> report = CheckManual(model.graph, model.program);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_NE(report->unmeasured.find(reason), std::string::npos) << report->unmeasured;
    EXPECT_EQ(report->parameters, 0);
    EXPECT_GT(report->values, 0);
  }
}

}  // namespace
}  // namespace cleave::ir
