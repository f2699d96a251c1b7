// Tests what crosses the slow link: plans for hosts whose network is slower than the links within, compared with the
// costs, from closed forms, of plans that people write.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/cost.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

constexpr double kGradientWeight = 0.1;
constexpr int64_t kHosts = 2, kDevices = 8;
constexpr double kSlow = 1e10, kFast = 1e11;  // Bytes per second.

Cluster Hosts(double network_bytes_per_second) {
  return {.name = "hosts",
          .links = {{.name = "network", .count = kHosts, .bytes_per_second = network_bytes_per_second},
                    {.name = "host", .count = kDevices, .bytes_per_second = kFast}}};
}

// 4 hosts of 4 devices.
Cluster Square(double network_bytes_per_second, double host_bytes_per_second) {
  return {.name = "square",
          .links = {{.name = "network", .count = 4, .bytes_per_second = network_bytes_per_second},
                    {.name = "host", .count = 4, .bytes_per_second = host_bytes_per_second}}};
}

testing::GptShape Shape(int64_t batch, int64_t seq, int64_t width) {
  return {.batch = batch, .seq = seq, .vocab = 64, .width = width, .heads = 16, .layers = 2};
}

ir::Plan Found(const ir::Graph& graph, const Cluster& cluster) {
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan =
      Search(graph, cluster, {}, {.gradient_weight = kGradientWeight, .dataset = {}}, diagnostics);
  EXPECT_TRUE(plan.has_value());
  return plan.value_or(ir::Plan{});
}

// One step of a hierarchical all-reduce: `ranks` at a price of `weight` per byte.
struct Level {
  double ranks = 1;
  double weight = 1;
};

double AllReduce(double bytes, const std::vector<Level>& cheapest_first) {
  double cost = 0;
  for (const Level& level : cheapest_first) {
    cost += 2 * (level.ranks - 1) / level.ranks * bytes * level.weight;
    bytes /= level.ranks;
  }
  return cost;
}

// The costs of plans that people write.
struct ByHand {
  double data_parallel = 0;    // On all ranks.
  double tensor_parallel = 0;  // On all ranks (Megatron: four all-reduces of the activations per block).
  double both = 0;             // Data parallelism across hosts, tensor parallelism inside.
};

ByHand CostsByHand(const testing::GptShape& shape, double inside_weight) {
  const double layers = shape.layers, width = static_cast<double>(shape.width);
  const double weights = 4 * 12 * width * width * layers;
  const double activations = 4 * static_cast<double>(shape.batch * shape.seq) * width;
  const Level inside = {.ranks = kDevices, .weight = inside_weight}, across = {.ranks = kHosts, .weight = 1};
  return {.data_parallel = kGradientWeight * AllReduce(weights, {inside, across}),
          .tensor_parallel = 4 * layers * AllReduce(activations, {inside, across}),
          .both = kGradientWeight * AllReduce(weights / kDevices, {across}) +
                  4 * layers * AllReduce(activations / kHosts, {inside})};
}

// Forward products with a weight: their rows are the batch and the sequence, their other factors those of the weight.
std::vector<ir::OpId> WeightProducts(const ir::Graph& graph) {
  std::vector<ir::OpId> products;
  for (const ir::Op& op : graph.ops) {
    if (op.phase == ir::Phase::kForward && op.kind == ir::OpKind::kMatmul &&
        graph.op(op.inputs[1]).kind == ir::OpKind::kParameter) {
      products.push_back(op.id);
    }
  }
  return products;
}

// The number of mesh axes that cross `link` and cut columns or the contracted dimension of `op`.
int AxesOnWeight(const ir::Graph& graph, const ir::Plan& plan, ir::OpId op, const std::string& link) {
  const ir::Rule rule = ir::RuleOf(graph, graph.op(op));
  int count = 0;
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    if (rule.factors[factor].name != "j" && rule.factors[factor].name != "k") continue;
    for (ir::AxisId axis : plan.ops[op].strategy.cuts[factor]) count += plan.mesh.axis(axis).link == link ? 1 : 0;
  }
  return count;
}

// There are many tokens for the size of the weights, so gradients are the cheapest to send between hosts.
TEST(HierarchyTest, DataParallelAcrossHostsAndTensorParallelInside) {
  const testing::GptShape shape = Shape(/*batch=*/16, /*seq=*/32, /*width=*/1024);
  const ByHand by_hand = CostsByHand(shape, kSlow / kFast);
  ASSERT_LT(by_hand.both, std::min(by_hand.data_parallel, by_hand.tensor_parallel));
  const ir::Graph graph = testing::Gpt(shape);
  const ir::Plan plan = Found(graph, Hosts(kSlow));
  EXPECT_LE(plan.search.cost, by_hand.both);
  for (ir::OpId op : WeightProducts(graph)) {
    EXPECT_EQ(AxesOnWeight(graph, plan, op, "network"), 0) << graph.op(op).name;
    EXPECT_GT(AxesOnWeight(graph, plan, op, "host"), 0) << graph.op(op).name;
  }
}

// `plan` with the prices of another cluster's links.
double CostOn(const ir::Graph& graph, ir::Plan plan, const Cluster& cluster) {
  plan.mesh = MeshOfCluster(cluster);
  return PlanCost(FactsOf(graph), plan).price;
}

// With links of equal speed axes are interchangeable: which of them cut weights and which the batch depends on the
// links alone.
TEST(HierarchyTest, TheLinksSayWhichAxesCutTheBatch) {
  const ir::Graph graph = testing::Gpt(Shape(/*batch=*/16, /*seq=*/32, /*width=*/1024));
  const ir::Plan slow_network = Found(graph, Square(kSlow, kFast)), slow_hosts = Found(graph, Square(kFast, kSlow));
  const auto total = [&](const ir::Plan& plan, const std::string& link) {
    int axes = 0;
    for (ir::OpId op : WeightProducts(graph)) axes += AxesOnWeight(graph, plan, op, link);
    return axes;
  };
  EXPECT_LT(total(slow_network, "network"), total(slow_network, "host"));
  EXPECT_LT(total(slow_hosts, "host"), total(slow_hosts, "network"));
  // Each plan is expensive on the other's links, and with equal links neither is better.
  EXPECT_GT(CostOn(graph, slow_network, Square(kFast, kSlow)), 1.1 * slow_hosts.search.cost);
  EXPECT_GT(CostOn(graph, slow_hosts, Square(kSlow, kFast)), 1.1 * slow_network.search.cost);
  const double first = CostOn(graph, slow_network, Square(kFast, kFast));
  EXPECT_NEAR(CostOn(graph, slow_hosts, Square(kFast, kFast)), first, 1e-6 * first);
}

}  // namespace
}  // namespace cleave::search
