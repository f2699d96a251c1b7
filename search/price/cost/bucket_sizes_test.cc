#include "search/price/cost/bucket_sizes.h"

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
class BucketSizesTest : public ::testing::Test {
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

  ir::BucketSizes SizesOn(const Cluster& cluster, int zero = 0) const {
    const ir::Program program = Program(cluster, {}, zero);
    const ir::Fusion fusion = ir::Fuse(program);
    const std::vector<ir::BucketSizes> sizes =
        SizesOfBuckets(program, fusion, StageTimes(program, fusion, cluster), cluster);
    return sizes.empty() ? ir::BucketSizes() : sizes.front();
  }

  static Cluster Hosts(int64_t hosts) { return *ClusterOf(*FindPreset(absl::StrCat("h100x8*", hosts)), 8 * hosts); }

  const ir::Graph graph_ = testing::Mlp(32768, {4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 1});
};

TEST_F(BucketSizesTest, OnOneHostSmallOnesRunBesideTheBackwardPass) { EXPECT_EQ(SizesOn(Hosts(1)), ir::BucketSizes()); }

TEST_F(BucketSizesTest, OverManyHostsEachWouldTakeItsLatency) {
  const Cluster cluster = Hosts(512);
  const ir::BucketSizes sizes = SizesOn(cluster);
  EXPECT_GT(sizes.reductions, ir::kBucketBytes);
  EXPECT_EQ(sizes.gathers, ir::kBucketBytes);
  const Execution execution{.overlaps = true};
  const Seconds small = Predict(Program(cluster), cluster, execution).step;
  const Seconds large = Predict(Program(cluster, {.buckets = sizes}), cluster, execution).step;
  EXPECT_LT(large, small * 0.75);
}

// Whole gradients that the backward pass scatters, and parameters that a pass gathers, wait in memory for the others of
// their bucket; what is scattered for the update is whole anyway.
TEST_F(BucketSizesTest, GrowWithTheGroup) {
  for (const int zero : {1, 2, 3}) {
    SCOPED_TRACE(zero);
    ir::BucketSizes last;
    for (const int64_t hosts : {1, 8, 64, 512}) {
      const ir::BucketSizes sizes = SizesOn(Hosts(hosts), zero);
      EXPECT_GE(sizes.reductions, last.reductions) << hosts;
      EXPECT_GE(sizes.gathers, last.gathers) << hosts;
      last = sizes;
    }
    EXPECT_GT(last.reductions, ir::kBucketBytes);
    EXPECT_EQ(last.gathers > ir::kBucketBytes, zero == 3);
    if (zero > 1) EXPECT_LE(last.reductions, ir::kMostPackedBytes);
    EXPECT_LE(last.gathers, ir::kMostPackedBytes);
    const Cluster cluster = Hosts(512);
    const Execution execution{.overlaps = true};
    const Seconds small = Predict(Program(cluster, {}, zero), cluster, execution).step;
    const Seconds large = Predict(Program(cluster, {.buckets = last}, zero), cluster, execution).step;
    EXPECT_LT(large, small * 0.75);
  }
}

TEST_F(BucketSizesTest, WhatHasNoGradientsHasNothingToReduce) {
  const Cluster cluster = Hosts(1);
  ir::Program program = Program(cluster);
  std::erase_if(program.steps,
                [](const ir::Step& step) { return std::holds_alternative<ir::Collective>(step.action); });
  const ir::Fusion fusion = ir::Fuse(program);
  EXPECT_TRUE(SizesOfBuckets(program, fusion, StageTimes(program, fusion, cluster), cluster).empty());
}

}  // namespace
}  // namespace cleave::search
