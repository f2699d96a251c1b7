#include "ir/transforms/differentiate/differentiate.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/text.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/testing/graphs.h"
#include "ir/testing/sources.h"
#include "ir/transforms/differentiate/models.h"

namespace cleave::ir {
namespace {

constexpr uint64_t kSeed = 9;

const TestOptimizer kFullStep = {.rate = 1.0};

std::vector<std::string> NamesOf(const Graph& graph, Phase phase) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops) {
    if (op.phase == phase) names.push_back(op.name);
  }
  return names;
}

OpId GradientOf(const Graph& graph, const std::string& name) {
  const std::optional<OpId> gradient = graph.Find(name + ".grad");
  EXPECT_TRUE(gradient.has_value()) << name;
  EXPECT_EQ(graph.op(*gradient).gradient_of, graph.Find(name));
  return *gradient;
}

// The whole training graph of a small network, by its text: each line can be followed by hand.
TEST(DifferentiateTest, Mlp) {
  const Graph forward = MlpGraph();
  const Graph graph = TrainingGraph(forward, {.rate = 0.5});
  EXPECT_TRUE(VerifyGraph(graph).empty()) << VerifyGraph(graph)[0];
  for (const Op& op : forward.ops) EXPECT_EQ(graph.op(op.id), op);
  const std::string text = GraphText(graph);
  EXPECT_EQ(
      text.substr(text.find("  %12")),
      R"(  %12: f32[] = constant() {dtype = "f32", shape = (), value = 1.0} phase(backward) gradient_of(%10)  // loss.grad, :6
  %13: f32[6, 3] = cross_entropy_gradient(%9, %1, %12) {label_smoothing = 0.0, z_loss = 0.0} phase(backward) from(%10, (0, 1)) gradient_of(%9)  // logits.grad, :6
  %14: f32[6, 5] = matmul(%13, %8) {transpose_a = false, transpose_b = false} phase(backward) from(%9, (0, 2, 1)) gradient_of(%7)  // h1.grad, :5
  %15: f32[3, 5] = matmul(%13, %7) {transpose_a = true, transpose_b = false} phase(backward) from(%9, (2, 0, 1)) gradient_of(%8)  // logits.weight.grad, :5
  %16: f32[6, 5] = relu_gradient(%14, %7) phase(backward) from(%7, (0, 1)) gradient_of(%6)  // h1.bias_add.grad, :4
  %17: f32[5] = reduce_sum(%16) {axes = (0), keep_dims = false} phase(backward) from(%6, (0, 1)) gradient_of(%4)  // h1.bias.grad, :4
  %18: f32[5, 4] = matmul(%16, %2) {transpose_a = true, transpose_b = false} phase(backward) from(%5, (2, 0, 1)) gradient_of(%3)  // h1.weight.grad, :4
  %19: f32[] = step_scalar() {formula = "0.5"} phase(update)  // learning_rate
  %20: f32[5, 4] = mul(%18, %19) phase(update)  // h1.weight.step, :4
  %21: f32[5, 4] = sub(%3, %20) phase(update)  // h1.weight.new, :4
  %22: f32[5] = mul(%17, %19) phase(update)  // h1.bias.step, :4
  %23: f32[5] = sub(%4, %22) phase(update)  // h1.bias.new, :4
  %24: f32[3, 5] = mul(%15, %19) phase(update)  // logits.weight.step, :5
  %25: f32[3, 5] = sub(%8, %24) phase(update)  // logits.weight.new, :5
  loss %10
  metric accuracy %11
  update %3 = %21
  update %4 = %23
  update %8 = %25
}
)");
}

// The gradient of a parameter against central differences of the loss.
void CheckGradients(const Graph& forward) {
  const Graph graph = TrainingGraph(forward, kFullStep);
  ASSERT_TRUE(VerifyGraph(graph).empty()) << VerifyGraph(graph)[0];
  const SourceValues sources = RandomSources(graph, kSeed);
  const IdVector<OpId, Tensor> values = InterpretGraph(graph, sources, 1);
  auto loss = [&](const SourceValues& changed) { return InterpretGraph(forward, changed, 1)[*forward.loss].values[0]; };
  constexpr double kStep = 1e-5;
  for (OpId parameter : TrainedParameters(forward)) {
    const Tensor& gradient = values[GradientOf(graph, forward.op(parameter).name)];
    for (size_t i = 0; i < gradient.values.size(); ++i) {
      SourceValues changed = sources;
      changed[parameter].values[i] += kStep;
      const double above = loss(changed);
      changed[parameter].values[i] -= 2 * kStep;
      const double expected = (above - loss(changed)) / (2 * kStep);
      ASSERT_NEAR(gradient.values[i], expected, 1e-6 * (1 + std::abs(expected)))
          << forward.op(parameter).name << ", element " << i << ", seed " << kSeed;
    }
  }
}

// The names and values that the looks of `parts` of a value have become, or what is wrong.
std::string LooksAt(const std::string& value, const std::string& part) {
  Graph forward = MlpGraph();
  forward.looks = {{.kind = LookKind::kPrint, .value = *forward.Find(value), .name = value, .line = 7, .part = part}};
  const absl::StatusOr<Graph> graph = Differentiate(forward, {.kind = TestOptimizer::Kind::kMomentum});
  if (!graph.ok()) return std::string(graph.status().message());
  EXPECT_EQ(graph->looks[0].part, "");
  return absl::StrCat(graph->looks[0].name, " is ", graph->op(graph->looks[0].value).name);
}

TEST(DifferentiateTest, LooksAtGradientsAndSlots) {
  EXPECT_EQ(LooksAt("h1.weight", ""), "h1.weight is h1.weight");
  EXPECT_EQ(LooksAt("h1.weight", "grad"), "h1.weight.grad is h1.weight.grad");
  EXPECT_EQ(LooksAt("h1", "grad"), "h1.grad is h1.grad");
  EXPECT_EQ(LooksAt("h1.weight", "momentum"), "h1.weight.momentum is h1.weight.momentum.new");
  EXPECT_EQ(LooksAt("h1.weight", "adam_m"),
            "`h1.weight.adam_m` does not exist: of `h1.weight` there is `momentum`, `grad`");
  EXPECT_EQ(LooksAt("image", "grad"),
            "`image.grad` does not exist: the loss does not depend on parameters through `image`");
}

TEST(DifferentiateTest, MlpGradients) { CheckGradients(MlpGraph()); }
TEST(DifferentiateTest, AttentionGradients) { CheckGradients(AttentionGraph()); }
TEST(DifferentiateTest, MixedGradients) { CheckGradients(MixedGraph()); }
TEST(DifferentiateTest, ImageGradients) { CheckGradients(ImageGraph()); }

// Steps that share a weight add to its gradient one after another, and gradients of slices that lie beside each other
// are put together.
TEST(DifferentiateTest, StepsOfALoop) {
  const Graph graph = TestRecurrent(4);
  std::vector<std::string> sums;
  for (OpId sum = GradientOf(graph, "weight"); graph.op(sum).kind == OpKind::kAdd; sum = graph.op(sum).inputs[0]) {
    const Op& op = graph.op(sum);
    EXPECT_EQ(op.inputs[1].value() + 1, op.id.value()) << "waits for nothing but the product";
    sums.push_back(op.name);
  }
  EXPECT_EQ(sums, (std::vector<std::string>{"weight.grad", "h.1.product.grad_sum", "h.2.product.grad_sum"}));
  const Op& whole = graph.op(GradientOf(graph, "x"));
  EXPECT_EQ(whole.kind, OpKind::kConcat);
  ASSERT_EQ(whole.inputs.size(), 4u);
  EXPECT_EQ(graph.op(whole.inputs[1]).name, "h.1.slice.grad");
  for (const Op& op : graph.ops) EXPECT_NE(op.kind, OpKind::kPad) << op.name;
}

// Slices with elements before, between and behind them, slices of the same elements, and slices along two dimensions.
TEST(DifferentiateTest, SlicesThatLeaveSomethingOut) {
  using Slices = std::vector<std::pair<Shape, Shape>>;
  const Slices beside = {{{0, 1}, {5, 2}}, {{0, 2}, {5, 4}}};
  const Slices apart = {{{0, 5}, {5, 6}}, {{0, 1}, {5, 2}}, {{0, 2}, {5, 4}}};
  const Slices twice = {{{0, 1}, {5, 4}}, {{0, 1}, {5, 4}}};
  const Slices both_dimensions = {{{3, 0}, {5, 6}}, {{1, 0}, {3, 6}}, {{1, 1}, {3, 4}}};
  for (const Slices& slices : {beside, apart, twice, both_dimensions}) {
    GraphBuilder b;
    const OpId w = AddParameter(b, "w", {5, 6});
    std::optional<OpId> loss;
    for (const auto& [begin, end] : slices) {
      const OpId part = b.Add(OpKind::kSlice, {w}, {{attribute::kBegin, begin}, {attribute::kEnd, end}}, "part");
      const OpId own = b.Add(OpKind::kReduceSum, {b.Add(OpKind::kSquare, {part}, {}, "square")},
                             {{attribute::kAxes, Shape{0, 1}}}, "own");
      loss = loss.has_value() ? b.Add(OpKind::kAdd, {*loss, own}, {}, "loss") : own;
    }
    b.mutable_graph().loss = loss;
    CheckGradients(std::move(b).Build());
  }
}

// Where a gradient goes into an input, the dimensions of the gradient are those of the input; so in a strategy that is
// inherited the gradient lies as the input does.
void CheckInheritance(const Graph& forward) {
  const Graph graph = TrainingGraph(forward, kFullStep);
  int checked = 0;
  for (const Op& op : graph.ops) {
    if (!op.inherits.has_value()) continue;
    const Op& from = graph.op(op.inherits->op);
    EXPECT_EQ(from.phase, Phase::kForward) << op.name;
    const Rule own = RuleOf(graph, op);
    const Rule rule = RuleOf(graph, from);
    if (!op.gradient_of.has_value()) continue;
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      if (from.inputs[i] != *op.gradient_of) continue;
      for (size_t d = 0; d < own.output.size(); ++d) {
        FactorList mapped;
        for (int factor : own.output[d]) mapped.push_back(op.inherits->factors[static_cast<size_t>(factor)]);
        EXPECT_EQ(mapped, rule.inputs[i][d]) << op.name << ", dimension " << d;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 5);
}

TEST(DifferentiateTest, MlpInheritance) { CheckInheritance(MlpGraph()); }
TEST(DifferentiateTest, AttentionInheritance) { CheckInheritance(AttentionGraph()); }
TEST(DifferentiateTest, ImageInheritance) { CheckInheritance(ImageGraph()); }

// A convolution cut by samples, filters, channels or rows has its gradients cut the same way.
TEST(DifferentiateTest, ConvolutionInheritance) {
  const Graph graph = TrainingGraph(ImageGraph(), kFullStep);
  const auto text = [&](const std::string& name) {
    const Op& gradient = graph.op(*graph.Find(name));
    const Rule own = RuleOf(graph, gradient);
    const Rule forward = RuleOf(graph, graph.op(gradient.inherits->op));
    std::string result = own.ToString();
    for (size_t factor = 0; factor < own.factors.size(); ++factor) {
      const int from = gradient.inherits->factors[factor];
      absl::StrAppend(&result, " | ", own.factors[factor].name, " from ",
                      from < 0 ? "nothing" : forward.factors[static_cast<size_t>(from)].name);
    }
    return result;
  };
  const std::string grouped =
      " | n from n | g from g | o from o | c from c | h from h | w from w | kh from kh | kw from kw";
  EXPECT_EQ(text("c1.pool.grad"), absl::StrCat("n (g o) h~ w~, (g o) c kh kw -> n (g c) h w", grouped));
  EXPECT_EQ(text("c2.filter.grad"), absl::StrCat("n (g o) h w, n (g c) h~ w~ -> (g o) c kh kw", grouped));
  EXPECT_EQ(text("c1.pool.index"), "n c h~ w~ -> n c h w | n from n | c from c | h from h | w from w");
}

// A mean's gradient repeats along a dimension that only the forward op knows.
TEST(DifferentiateTest, InheritanceFlowsBackFromTheGradient) {
  const Graph graph = TrainingGraph(MixedGraph(), kFullStep);
  const Op& gradient = graph.op(GradientOf(graph, "curved"));
  EXPECT_EQ(gradient.kind, OpKind::kBroadcastTo);
  EXPECT_EQ(gradient.inherits, (Inheritance{.op = *graph.Find("mean"), .factors = {0, 1}}));
}

TEST(DifferentiateTest, SumsOfContributionsDecideForThemselves) {
  const Graph graph = TrainingGraph(AttentionGraph(), kFullStep);
  const Op& table = graph.op(GradientOf(graph, "table"));
  EXPECT_EQ(table.kind, OpKind::kAdd);
  EXPECT_FALSE(table.inherits.has_value());
  for (const Op& op : graph.ops) {
    EXPECT_FALSE(op.phase == Phase::kUpdate && op.inherits.has_value()) << op.name;
  }
}

// Nothing is computed for inputs, and every backward op is used.
TEST(DifferentiateTest, NoUnusedOps) {
  for (const Graph& forward : {MlpGraph(), AttentionGraph(), MixedGraph(), ImageGraph()}) {
    const Graph graph = TrainingGraph(forward, kFullStep);
    const auto users = Users(graph);
    for (const Op& op : graph.ops) {
      if (op.phase != Phase::kBackward) continue;
      EXPECT_FALSE(users[op.id].empty()) << op.name;
      EXPECT_FALSE(op.gradient_of.has_value() && graph.op(*op.gradient_of).kind == OpKind::kInput) << op.name;
    }
  }
}

TEST(DifferentiateTest, NamesAreStable) {
  const Graph graph = TrainingGraph(MixedGraph(), {.kind = TestOptimizer::Kind::kMomentum});
  EXPECT_EQ(
      NamesOf(graph, Phase::kUpdate),
      (std::vector<std::string>{"a.momentum", "a.momentum.decayed", "a.momentum.new", "learning_rate", "a.step",
                                "a.new", "b.momentum", "b.momentum.decayed", "b.momentum.new", "b.step", "b.new"}));
}

// Of a parameter without a gradient neither it nor what belongs to it is updated.
TEST(DifferentiateTest, WhatReadsAMissingGradientIsLeftOut) {
  Graph forward = MlpGraph();
  GraphBuilder builder(forward);
  builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{2}}}, "idle");
  const Updates updates = UpdatesBy({.kind = TestOptimizer::Kind::kMomentum}, MlpGraph());
  GraphBuilder more(updates.graph);
  const OpId idle = more.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{2}}}, "idle");
  const OpId gradient =
      more.Add(OpKind::kInput, {}, {{attribute::kShape, Shape{2}}, {attribute::kData, "idle"}}, "idle.grad");
  more.mutable_graph().updates.push_back({idle, more.Add(OpKind::kSub, {idle, gradient}, {}, "idle.new")});
  const absl::StatusOr<Graph> graph = Differentiate(std::move(builder).Build(), Updates{std::move(more).Build()});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->Find("idle.new"), std::nullopt);
  EXPECT_EQ(graph->updates.size(), updates.graph.updates.size());
}

std::string ErrorOf(Graph forward) {
  const absl::StatusOr<Graph> graph = Differentiate(std::move(forward), Updates());
  return graph.ok() ? "ok" : std::string(graph.status().message());
}

TEST(DifferentiateTest, Errors) {
  Graph without_loss = MlpGraph();
  without_loss.loss.reset();
  EXPECT_EQ(ErrorOf(without_loss), "the model has no loss");

  Graph wide_loss = MlpGraph();
  wide_loss.loss = wide_loss.Find("logits");
  EXPECT_EQ(ErrorOf(wide_loss), "the loss `logits`, line 5, is f32[6, 3], not a scalar");

  Graph accuracy_loss = MlpGraph();
  accuracy_loss.loss = accuracy_loss.Find("accuracy");
  EXPECT_EQ(ErrorOf(accuracy_loss),
            "the loss depends on parameters through `accuracy`, line 6, and `accuracy` has no gradient");
}

TEST(DifferentiateTest, ParametersWithoutInfluenceAreLeftAlone) {
  Graph forward = MlpGraph();
  GraphBuilder builder(std::move(forward));
  const OpId idle = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{2}}}, "idle");
  forward = std::move(builder).Build();
  const std::vector<OpId> trained = TrainedParameters(forward);
  EXPECT_EQ(trained.size(), 3u);
  const Graph graph = TrainingGraph(forward, kFullStep);
  for (const StateUpdate& update : graph.updates) EXPECT_NE(update.state, idle);
}

}  // namespace
}  // namespace cleave::ir
