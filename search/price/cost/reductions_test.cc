#include "search/price/cost/reductions.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/program/partition/partition.h"
#include "ir/testing/plans.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/knobs/zero/zero.h"
#include "search/model/cluster/machines.h"
#include "search/model/cluster/presets.h"
#include "search/price/cost/predict.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// Data parallelism of an MLP with 512 MiB of gradients.
class ReductionsTest : public ::testing::Test {
 protected:
  // `zero`: the level of ZeRO.
  ir::Program Program(const Cluster& cluster, const ir::PartitionOptions& options = {}, int zero = 0) const {
    ir::Plan plan = ir::DataParallelPlan(graph_, MeshOfCluster(cluster));
    const GraphFacts facts = FactsOf(graph_);
    ShardReplicas(facts, {}, zero, plan);
    const absl::StatusOr<ir::Distributed> distributed = ir::Distribute(graph_, plan);
    EXPECT_TRUE(distributed.ok()) << distributed.status();
    return *ir::Partition(distributed->graph, distributed->plan, options);
  }

  Bytes BytesOn(const Cluster& cluster, int zero = 0) const {
    const ir::Program program = Program(cluster, {}, zero);
    const ir::Fusion fusion = ir::Fuse(program);
    return ReductionBytes(program, fusion, StageTimes(program, fusion, cluster), cluster);
  }

  static Cluster Hosts(int64_t hosts) { return *ClusterOf(*FindPreset(absl::StrCat("h100x8*", hosts)), 8 * hosts); }

  const ir::Graph graph_ = testing::Mlp(32768, {4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 1});
};

TEST_F(ReductionsTest, OnOneHostSmallOnesRunBesideTheBackwardPass) { EXPECT_EQ(BytesOn(Hosts(1)), ir::kBucketBytes); }

TEST_F(ReductionsTest, OverManyHostsEachWouldTakeItsLatency) {
  const Cluster cluster = Hosts(512);
  const Bytes bytes = BytesOn(cluster);
  EXPECT_GT(bytes, ir::kBucketBytes);
  const Execution execution{.overlaps = true};
  const Seconds small = Predict(Program(cluster), cluster, execution).step;
  const Seconds large = Predict(Program(cluster, {.reduction_bytes = bytes}), cluster, execution).step;
  EXPECT_LT(large, small * 0.75);
}

TEST_F(ReductionsTest, WhatIsScatteredIsACopyOfSomeSize) {
  const Cluster cluster = Hosts(512);
  for (const int zero : {1, 2, 3}) {
    const Bytes bytes = BytesOn(cluster, zero);
    EXPECT_EQ(bytes, ir::kMostPackedBytes);
    const Execution execution{.overlaps = true};
    const Seconds small = Predict(Program(cluster, {}, zero), cluster, execution).step;
    const Seconds large = Predict(Program(cluster, {.reduction_bytes = bytes}, zero), cluster, execution).step;
    EXPECT_LT(large, small * 0.75) << zero;
  }
}

TEST_F(ReductionsTest, WhatHasNoGradientsHasNothingToReduce) {
  const Cluster cluster = Hosts(1);
  ir::Program program = Program(cluster);
  std::erase_if(program.steps,
                [](const ir::Step& step) { return std::holds_alternative<ir::Collective>(step.action); });
  const ir::Fusion fusion = ir::Fuse(program);
  EXPECT_EQ(ReductionBytes(program, fusion, StageTimes(program, fusion, cluster), cluster), ir::kBucketBytes);
}

}  // namespace
}  // namespace cleave::search
