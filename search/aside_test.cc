// Metrics and prints change no plan.
#include "search/knobs/aside.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/layout/layout.h"
#include "ir/testing/graphs.h"
#include "ir/testing/sources.h"
#include "search/knobs/regions/objective.h"
#include "search/model/facts/facts.h"
#include "search/search.h"
#include "search/testing.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// `graph` with a metric and a print of an expression for every real forward value, which join branches that are
// otherwise apart.
ir::Graph LookedAt(ir::Graph graph) {
  std::vector<ir::OpId> values;
  for (const ir::Op& op : graph.ops) {
    if (op.phase == ir::Phase::kForward && op.type.dtype == ir::DType::kF32 && op.type.rank() > 0)
      values.push_back(op.id);
  }
  ir::GraphBuilder builder(std::move(graph));
  std::vector<ir::Metric> metrics;
  std::vector<ir::Look> looks;
  for (size_t i = 0; i < values.size(); ++i) {
    builder.SetPhase(ir::Phase::kMetric);
    ir::OpId measured = builder.Add(ir::OpKind::kSoftmax, {values[i]}, {}, absl::StrCat("metric.", i));
    if (builder.type(values[i]) == builder.type(values[(i + 1) % values.size()])) {
      measured =
          builder.Add(ir::OpKind::kAdd, {measured, values[(i + 1) % values.size()]}, {}, absl::StrCat("both.", i));
    }
    metrics.push_back(
        {absl::StrCat("metric_", i), builder.Add(ir::OpKind::kReduceMean, {measured}, {}, absl::StrCat("mean.", i))});
    builder.SetPhase(ir::Phase::kForward);
    const ir::OpId shown = builder.Add(ir::OpKind::kTanh, {values[i]}, {}, absl::StrCat("shown.", i));
    looks.push_back({.kind = ir::LookKind::kPrint, .value = shown, .name = absl::StrCat("shown.", i)});
    looks.push_back({.kind = ir::LookKind::kAssertFinite, .value = values[i], .name = absl::StrCat("checked.", i)});
    const ir::OpId next = values[(i + 1) % values.size()];
    if (builder.type(values[i]) != builder.type(next)) continue;
    const ir::OpId sum = builder.Add(ir::OpKind::kAdd, {values[i], next}, {}, absl::StrCat("sum.", i));
    looks.push_back({.kind = ir::LookKind::kWatch, .value = sum, .name = absl::StrCat("sum.", i)});
  }
  ir::Graph result = std::move(builder).Build();
  result.metrics = metrics;
  result.looks = looks;
  return result;
}

void ExpectSamePlan(const ir::Graph& graph, int devices, const SearchOptions& options, const ir::Pins& pins = {}) {
  const ir::Graph looked_at = LookedAt(graph);
  const ir::Plan expected = FoundPlan(graph, CpuCluster(devices), options, pins);
  const ir::Plan plan = FoundPlan(looked_at, CpuCluster(devices), options, pins);
  ASSERT_GT(plan.ops.size(), expected.ops.size());
  EXPECT_EQ(plan.search.cost, expected.search.cost);
  for (const ir::Op& op : graph.ops) {
    EXPECT_EQ(plan.ops[op.id], expected.ops[op.id]) << op.name;
  }
  EXPECT_EQ(ir::VerifyPlan(looked_at, plan), std::vector<std::string>());
}

// Propagation needs pins: tests/end_to_end/looks_test has them.
TEST(AsideTest, NoSearchIsChanged) {
  const std::vector<ir::Graph> graphs = {
      testing::SeedNetwork(), testing::Gpt({.batch = 4, .seq = 8, .vocab = 16, .width = 16, .heads = 2, .layers = 2}),
      testing::MixtureOfExperts({.tokens = 16, .width = 8, .hidden = 16, .experts = 2, .layers = 1})};
  for (const ir::Graph& graph : graphs) {
    for (const ir::SearchAlgorithm algorithm : {ir::SearchAlgorithm::kSapp, ir::SearchAlgorithm::kExact,
                                                ir::SearchAlgorithm::kDataParallel, ir::SearchAlgorithm::kReplicate}) {
      for (const int devices : {2, 6}) {
        SCOPED_TRACE(absl::StrCat(AlgorithmName(algorithm), " on ", devices, " devices"));
        ExpectSamePlan(graph, devices, {.algorithm = algorithm, .dataset = {}});
      }
    }
  }
}

TEST(AsideTest, NoPriceIsChanged) {
  const ir::Graph graph = testing::SeedNetwork();
  for (const ir::Price price : {ir::Price::kTime, ir::Price::kClassic}) {
    SCOPED_TRACE(PriceName(price));
    ExpectSamePlan(graph, 8, {.price = price, .dataset = {}});
  }
}

// Plans are compared by what their programs take, of which metrics and prints are no part.
TEST(AsideTest, NoMeasuredPlanIsChanged) {
  const ir::Graph network = testing::Mlp(8, {16, 32, 4});
  for (const ir::Objective objective :
       {ir::Objective::kSpeed, ir::Objective::kMemory, ir::Objective::kComputeToCommunication}) {
    SCOPED_TRACE(ObjectiveName(objective));
    ExpectSamePlan(network, 4, {.objective = objective, .dataset = {}});
    const std::vector<ir::OpId> all = FactsOf(network).set_ops;
    ExpectSamePlan(network, 4, {.dataset = {}}, {.regions = {{.name = "all", .ops = all, .objective = objective}}});
  }
  ExpectSamePlan(testing::Gpt({.batch = 8, .vocab = 16, .width = 16, .heads = 2, .layers = 1}), 4,
                 {.objective = ir::Objective::kMemory, .dataset = {}});
}

// An expression that is printed is computed where what it reads lies.
TEST(AsideTest, FollowsWhatItReads) {
  const ir::Graph graph = LookedAt(testing::SeedNetwork());
  const ir::Plan plan =
      FoundPlan(graph, CpuCluster(2), {.algorithm = ir::SearchAlgorithm::kDataParallel, .dataset = {}});
  const auto layout = [&](const std::string& name) {
    const ir::OpId op = *graph.Find(name);
    return ir::LayoutText(ir::OutputLayout(plan.ops[op].strategy, ir::RuleOf(graph, graph.op(op))), plan.mesh);
  };
  int cut = 0;
  for (const ir::Look& look : graph.looks) {
    if (look.kind != ir::LookKind::kPrint) continue;
    const ir::Op& shown = graph.op(look.value);
    EXPECT_EQ(layout(shown.name), layout(graph.op(shown.inputs[0]).name)) << shown.name;
    cut += layout(shown.name) == "[m0, -]";
  }
  EXPECT_GT(cut, 3);
}

// What a step sends under data parallelism.
std::vector<std::string> CollectivesOf(bool prints_gradient) {
  ir::GraphBuilder builder;
  const ir::OpId x = ir::AddInput(builder, "x", {8, 16});
  const ir::OpId target = ir::AddInput(builder, "target", {8, 64});
  const ir::OpId narrow =
      builder.Add(ir::OpKind::kMatmul, {x, ir::AddParameter(builder, "narrow", {16, 16})}, {}, "narrow.product");
  // No gradient goes through a comparison, so only a look needs that of its value.
  const ir::OpId mask = builder.Add(ir::OpKind::kGreater, {narrow, x}, {}, "mask");
  const ir::OpId product =
      builder.Add(ir::OpKind::kMatmul, {mask, ir::AddParameter(builder, "wide", {16, 64})}, {}, "product");
  builder.mutable_graph().loss = builder.Add(ir::OpKind::kMae, {product, target}, {}, "loss");
  if (prints_gradient) {
    builder.mutable_graph().looks = {{.kind = ir::LookKind::kPrint, .value = mask, .name = "mask", .part = "grad"}};
  }
  const ir::Graph graph = ir::TrainingGraph(std::move(builder).Build(), {.kind = ir::TestOptimizer::Kind::kSgd});
  const ir::Plan plan =
      FoundPlan(graph, CpuCluster(2), {.algorithm = ir::SearchAlgorithm::kDataParallel, .dataset = {}});
  const absl::StatusOr<ir::Program> program = ir::Partition(graph, plan);
  EXPECT_TRUE(program.ok()) << program.status();
  std::vector<std::string> collectives;
  for (const ir::Step& step : program->steps) {
    const auto* collective = std::get_if<ir::Collective>(&step.action);
    if (collective != nullptr) collectives.push_back(std::string(ir::CollectiveKindName(collective->kind)));
  }
  return collectives;
}

// The weight has more elements than the gradient of the product, but is whole on every rank.
TEST(AsideTest, NothingIsSentForAGradientThatIsOnlyPrinted) {
  EXPECT_EQ(CollectivesOf(/*prints_gradient=*/true), CollectivesOf(/*prints_gradient=*/false));
}

}  // namespace
}  // namespace cleave::search
