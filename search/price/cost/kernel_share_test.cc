#include "search/price/cost/kernel_share.h"

#include "gtest/gtest.h"
#include "ir/program/partition/partition.h"
#include "ir/testing/plans.h"
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
  cluster.peak.f32 = 1e30;
  cluster.kernel_floor = Seconds(0);
  for (const ir::Graph& graph : {testing::Mlp(64, {784, 512, 512, 10}), testing::Gpt({}), testing::ResNet({})}) {
    const ir::Plan plan = ir::DataParallelPlan(graph, MeshOfCluster(cluster));
    const double step = Predict(*ir::Partition(graph, plan), cluster).step.value();
    const GraphFacts facts = FactsOf(graph);
    EXPECT_NEAR(PlanCost(facts, plan, TimePrices(facts, cluster, plan.mesh)).price, step, 1e-9 * step);
  }
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
