#include "search/price/cost/predict.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"
#include "ir/program/partition/partition.h"
#include "ir/testing/plans.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/model/cluster/machines.h"
#include "search/model/cluster/presets.h"
#include "search/price/cost/communicators.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

ir::Program DataParallel(const ir::Graph& graph, const Cluster& cluster) {
  const absl::StatusOr<ir::Distributed> distributed =
      ir::Distribute(graph, ir::DataParallelPlan(graph, MeshOfCluster(cluster)));
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  return *ir::Partition(distributed->graph, distributed->plan);
}

TEST(PredictTest, OneRankTalksToNobody) {
  const Prediction one = Predict(DataParallel(testing::SeedNetwork(), CpuCluster(1)), CpuCluster(1));
  EXPECT_EQ(one.communication, Seconds(0));
  EXPECT_EQ(one.sent_bytes_per_rank, 0);
  EXPECT_GT(one.compute, Seconds(0));
  EXPECT_EQ(one.step, one.compute);
}

TEST(PredictTest, CommunicationIsLatencyAndBytes) {
  const Cluster cluster = *ClusterOf(*FindPreset("v100x8"), 8);
  const ir::Program program = DataParallel(testing::SeedNetwork(), cluster);
  const Prediction eight = Predict(program, cluster);
  int64_t all_reduces = 0;
  for (const ir::Step& step : program.steps) {
    const auto* collective = std::get_if<ir::Collective>(&step.action);
    if (collective == nullptr || step.phase == ir::Phase::kMetric) continue;
    EXPECT_EQ(collective->kind, ir::CollectiveKind::kAllReduce);
    ++all_reduces;
  }
  ASSERT_GT(all_reduces, 0);
  const double latency = static_cast<double>(all_reduces) * 76e-6;
  EXPECT_NEAR(eight.communication.value(), latency + eight.sent_bytes_per_rank / 136e9, 1e-9);
}

// All ranks, and each other group of which the program has a collective.
TEST(CommunicatorsTest, EachGroupOfRanksHasOne) {
  const Cluster cluster = *ClusterOf(*FindPreset("h100x8"), 8);
  const ir::Program program = DataParallel(testing::SeedNetwork(), cluster);
  EXPECT_EQ(CommunicatorsOf(program), 1);
  EXPECT_EQ(cluster.communicator, Bytes(24 * 3 * 9'633'792));
  EXPECT_EQ(CommunicatorMemory(cluster, program), cluster.communicator);
  ir::Program other = program;
  for (ir::Step& step : other.steps) {
    auto* const collective = std::get_if<ir::Collective>(&step.action);
    if (collective != nullptr) collective->axes = {collective->axes.back(), collective->axes.front()};
  }
  EXPECT_EQ(CommunicatorsOf(other), 2);
  EXPECT_EQ(CommunicatorsOf(DataParallel(testing::SeedNetwork(), CpuCluster(1))), 0);
  EXPECT_EQ(CommunicatorMemory(CpuCluster(8), program), Bytes(0));
}

// What waits on the host costs nothing while it moves beside kernels, and all that it takes beyond them.
TEST(PredictTest, CopiesToTheHostRunBesideKernels) {
  Cluster cluster = *ClusterOf(*FindPreset("h100x8"), 1);
  const ir::Graph graph = testing::Mlp(4096, {4096, 4096, 4096, 4096, 4096, 4096, 1});
  ir::Plan plan = ir::DataParallelPlan(graph, MeshOfCluster(cluster));
  const Execution execution{.overlaps = true};
  const Prediction kept = Predict(*ir::Partition(graph, plan), cluster, execution);
  EXPECT_EQ(kept.host_copies, Seconds(0));
  for (const ir::Op& op : graph.ops) {
    if (ir::CanBeRecomputed(graph, op)) plan.ops[op.id].retention = ir::Retention::kOffload;
  }
  const ir::Program program = *ir::Partition(graph, plan);
  double bytes = 0;
  for (const ir::Step& step : program.steps) {
    if (!std::holds_alternative<ir::HostCopy>(step.action)) continue;
    bytes += static_cast<double>(program.value(ir::Writes(step).front()).type.bytes().value());
  }
  ASSERT_GT(bytes, 0);
  const auto with_rate = [&](double rate) {
    cluster.host_bytes_per_second = rate;
    return Predict(program, cluster, execution);
  };
  EXPECT_DOUBLE_EQ(with_rate(0).step.value(), kept.step.value());
  const Prediction fast = with_rate(1e15);
  EXPECT_NEAR(fast.step.value(), kept.step.value(), 1e-3 * kept.step.value());
  const Prediction usual = with_rate(55e9);
  EXPECT_DOUBLE_EQ(usual.host_copies.value(), bytes / 55e9);
  EXPECT_GT(usual.step, fast.step);
  EXPECT_LT(usual.step, kept.step + usual.host_copies);
  const Prediction slow = with_rate(1e6);
  EXPECT_GE(slow.step, slow.host_copies);
  EXPECT_LE(slow.step, slow.host_copies + kept.step);
}

TEST(PredictTest, FusedOpsAreOneKernel) {
  // When every op takes the least time of a kernel, the step takes this time once for each piece.
  Cluster cluster = CpuCluster(1);
  cluster.kernel_floor = Seconds(1);
  cluster.input_bytes_per_second = 0;
  const ir::Program program = DataParallel(testing::Mlp(4, {4, 4, 4, 1}), cluster);
  int64_t ops = 0;
  for (const ir::Step& step : program.steps) {
    const auto* compute = std::get_if<ir::Compute>(&step.action);
    if (compute != nullptr && !compute->inputs.empty() && step.phase != ir::Phase::kMetric) ++ops;
  }
  const double kernels = Predict(program, cluster).compute.value();
  EXPECT_EQ(kernels, std::floor(kernels));
  // In the forward pass each of three layers includes its bias, and two include their relu.
  EXPECT_LE(kernels, static_cast<double>(ops - 5));
  EXPECT_GT(kernels, 9);  // The products.
}

// The gradients of late layers are reduced while those of early layers are computed. Buckets hold 25 MiB.
TEST(PredictTest, CollectivesRunBesideKernelsWhereTheTargetCan) {
  Cluster cluster = *ClusterOf(*FindPreset("h100x8"), 8);
  const ir::Program program = DataParallel(testing::Mlp(4096, {4096, 4096, 4096, 4096, 4096}), cluster);
  cluster.overlap_slowdown = 1;
  const Prediction alone = Predict(program, cluster);
  const Prediction beside = Predict(program, cluster, {.fuse = {}, .overlaps = true});
  EXPECT_NEAR(alone.step.value(), (alone.compute + alone.communication).value(), 1e-12);
  EXPECT_EQ(beside.compute, alone.compute);
  EXPECT_EQ(beside.communication, alone.communication);
  EXPECT_GE(beside.step, std::max(beside.compute, beside.communication));
  // Two thirds of the products are in the backward pass; communication lasts longer than all, and begins with the first
  // gradient.
  ASSERT_GT(alone.communication.value(), alone.compute.value());
  EXPECT_LT(beside.step.value(), alone.step.value() - alone.compute.value() / 3);
  EXPECT_GT(beside.step.value(), alone.communication.value() + alone.compute.value() / 3);
  // What compute loses meanwhile is a part of what is hidden.
  cluster.overlap_slowdown = 1.25;
  const double hidden = (alone.step - beside.step).value();
  EXPECT_NEAR(Predict(program, cluster, {.fuse = {}, .overlaps = true}).step.value(),
              beside.step.value() + 0.2 * hidden, 1e-12);
}

TEST(PredictTest, SamplesAreReadBeforeAStep) {
  Cluster cluster = CpuCluster(1);
  const ir::Program program = DataParallel(testing::Mlp(64, {32, 10}), cluster);
  const double with = Predict(program, cluster).compute.value();
  cluster.input_bytes_per_second = 0;
  const double bytes = 64 * 32 * 4 + 64 * 10 * 4;  // Inputs and targets.
  EXPECT_NEAR(with - Predict(program, cluster).compute.value(), bytes / CpuCluster(1).input_bytes_per_second, 1e-12);
}

TEST(PredictTest, LargeBatchesComputeLessOnMoreRanks) {
  const ir::Graph graph = testing::Mlp(4096, {1024, 1024, 1024, 1});
  const Seconds one = Predict(DataParallel(graph, CpuCluster(1)), CpuCluster(1)).compute;
  const Seconds eight = Predict(DataParallel(graph, CpuCluster(8)), CpuCluster(8)).compute;
  EXPECT_LT(eight.value(), one.value() / 4);
  EXPECT_GT(eight.value(), one.value() / 8);
}

}  // namespace
}  // namespace cleave::search
