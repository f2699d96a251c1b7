#include "search/price/cost/kernel_share.h"

#include "gtest/gtest.h"
#include "ir/program/partition/partition.h"
#include "ir/testing/plans.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/model/cluster/cluster.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/cost.h"
#include "search/price/cost/predict.h"
#include "search/price/cost/time_prices.h"
#include "search/testing/image_models.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// Where memory decides what a kernel takes, the parts of all ops are together the time of the program.
TEST(KernelShareTest, PartsAddUpToTheProgram) {
  Cluster cluster = CpuCluster(1);
  cluster.peak = {.f32 = 1e30};
  cluster.kernel_floor = Seconds(0);
  for (const ir::Graph& graph : {testing::Mlp(64, {784, 512, 512, 10}), testing::Gpt({}), testing::ResNet({})}) {
    const ir::Plan plan = ir::DataParallelPlan(graph, MeshOfCluster(cluster));
    const double step = Predict(*ir::Partition(graph, plan), cluster).step.value();
    const GraphFacts facts = FactsOf(graph);
    EXPECT_NEAR(PlanCost(facts, plan, TimePrices(facts, cluster, plan.mesh)).price, step, 1e-9 * step);
  }
}

// An op whose inner factor is cut is priced by the kernels of its distributed form: where messages take no time, the
// price of a loss whose classes are cut is what its program computes.
TEST(KernelShareTest, DistributedFormsArePricedByTheirKernels) {
  Cluster cluster = CpuCluster(2);
  cluster.caches = {};  // Whether a step fits into one is not known before there is a plan.
  cluster.peak = {.f32 = 1e30};
  cluster.kernel_floor = Seconds(0);
  for (Link& link : cluster.links) {
    link.bytes_per_second = 1e30;
    link.latency = link.latency_per_doubling = Seconds(0);
  }
  const ir::Graph graph = testing::Gpt({.batch = 32, .vocab = 4000, .width = 8, .heads = 1, .layers = 1});
  const GraphFacts facts = FactsOf(graph);
  ir::Plan plan = ir::DataParallelPlan(graph, MeshOfCluster(cluster));
  for (const ir::Op& op : graph.ops) {
    const ir::Rule rule = ir::RuleOf(graph, op);
    ir::Strategy& strategy = plan.ops[op.id].strategy;
    strategy = ir::Strategy::Replicated(rule);
    if (op.inherits.has_value()) {
      strategy = ir::InheritStrategy(plan.ops[op.inherits->op].strategy, *op.inherits, rule, plan.mesh);
      continue;
    }
    for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
      if (op.kind != ir::OpKind::kCrossEntropy || rule.factors[factor].kind != ir::FactorKind::kInner) continue;
      const auto cut = ir::WithCut(strategy, rule, plan.mesh, static_cast<int>(factor), ir::AxisId(0));
      if (cut.ok()) strategy = *cut;
    }
  }
  const ir::Distributed distributed = *ir::Distribute(graph, plan);
  EXPECT_GT(distributed.graph.ops.size(), graph.ops.size());
  const double step = Predict(*ir::Partition(distributed.graph, distributed.plan), cluster).compute.value();
  Prices prices = TimePrices(facts, cluster, plan.mesh);
  EXPECT_NEAR(PlanCost(facts, plan, prices).price, step, 0.05 * step);
  prices.kernels = nullptr;
  EXPECT_LT(PlanCost(facts, plan, prices).price, 0.8 * step);
}

// Micro-batches repeat what does not become smaller: floors of kernels, and the reading of parameters.
TEST(KernelShareTest, PartsOfMicroBatchesAddUpToTheProgram) {
  const ir::Graph graph = testing::Mlp(64, {784, 512, 512, 10});
  const Cluster cluster = CpuCluster(1);
  double before = 0;
  for (const int64_t micro_batches : {1, 2, 4, 8}) {
    ir::Plan plan = ir::DataParallelPlan(graph, MeshOfCluster(cluster));
    plan.micro_batches = micro_batches;
    const double step = Predict(*ir::Partition(graph, plan), cluster).step.value();
    const GraphFacts facts = FactsOf(graph, micro_batches);
    const double price = PlanCost(facts, plan, TimePrices(facts, cluster, plan.mesh)).price;
    EXPECT_NEAR(price, step, 0.1 * step) << micro_batches;
    EXPECT_GT(price, before);
    before = price;
  }
}

// A product with its bias stores the sum alone.
TEST(KernelShareTest, AProductWithItsBiasIsStoredOnce) {
  const ir::Graph graph = testing::Mlp(4, {8, 8, 2});
  const IdVector<ir::OpId, KernelShare> shares = KernelSharesOf(FactsOf(graph), {});
  int products = 0;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kRelu) continue;
    const ir::OpId bias_add = op.inputs[0], product = graph.op(bias_add).inputs[0];
    EXPECT_EQ(shares[op.id], (KernelShare{.reads = {1}, .writes = true, .ops = 1}));
    EXPECT_EQ(shares[bias_add], (KernelShare{.reads = {0, 1}, .writes = true, .ops = 2}));
    EXPECT_EQ(shares[product], (KernelShare{.reads = {1, 1}, .writes = false, .ops = 2}));
    ++products;
  }
  EXPECT_EQ(products, 1);
}

}  // namespace
}  // namespace cleave::search
