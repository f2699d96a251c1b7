#include "ir/program/fuse/host_copies.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/plan/plan.h"
#include "ir/testing/graphs.h"
#include "ir/testing/meshes.h"
#include "ir/testing/plans.h"
#include "ir/testing/sources.h"

namespace cleave::ir {
namespace {

constexpr int kLayers = 16;
constexpr int64_t kLayerBytes = 64 * 8 * 4;

Graph DeepMlp() {
  GraphBuilder b;
  const OpId x = AddInput(b, "x", {64, 8});
  const OpId y = AddInput(b, "y", {64, 8});
  OpId h = x;
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string name = absl::StrCat("h.", layer);
    const OpId weight = AddParameter(b, name + ".weight", {8, 8});
    h = b.Add(OpKind::kTanh, {b.Add(OpKind::kMatmul, {h, weight}, {}, name + ".matmul")}, {}, name + ".tanh");
  }
  b.mutable_graph().loss = b.Add(OpKind::kMse, {h, y}, {}, "loss");
  return TrainingGraph(std::move(b).Build(), {.kind = TestOptimizer::Kind::kSgd, .rate = 0.1});
}

struct Laid {
  Program program;
  Fusion fusion;
  Storage storage;
};

// What the backward pass reads of each layer waits as `retention` says.
Laid LayOut(Retention retention, int64_t micro_batches = 1) {
  const Graph graph = DeepMlp();
  Plan plan = DataParallelPlan(graph, MeshOf({}));
  plan.micro_batches = micro_batches;
  for (const Op& op : graph.ops) {
    if (CanBeRecomputed(graph, op) && op.kind == OpKind::kTanh) plan.ops[op.id].retention = retention;
  }
  Program program = *Partition(graph, plan);
  Fusion fusion = Fuse(program);
  Storage storage = PlanStorage(program, fusion);
  return {.program = std::move(program), .fusion = std::move(fusion), .storage = std::move(storage)};
}

TEST(HostCopiesTest, WhatWaitsOnTheHostLeavesTheArena) {
  for (const int64_t micro_batches : {1, 4}) {
    const Laid kept = LayOut(Retention::kKeep, micro_batches);
    const Laid own = LayOut(Retention::kOffload, micro_batches);
    EXPECT_EQ(kept.storage.host.total, Bytes(0));
    EXPECT_EQ(own.storage.host.total, Bytes(kLayers * kLayerBytes / micro_batches));
    // A few values are under way at a time.
    EXPECT_LE(own.storage.buffers.total.value(),
              kept.storage.buffers.total.value() - kLayers / 2 * kLayerBytes / micro_batches);
    for (const BufferRequest& request : own.storage.requests) {
      EXPECT_EQ(own.storage.host.Find(request.value), nullptr);
    }
  }
}

TEST(HostCopiesTest, ACopyHasTheTimeUpToTheNextOne) {
  const Laid own = LayOut(Retention::kOffload);
  std::vector<CopyHold> out, back;
  for (const CopyHold& hold : HoldsOfCopies(own.program, own.fusion)) {
    (hold.direction == HostCopy::Direction::kOut ? out : back).push_back(hold);
  }
  ASSERT_EQ(out.size(), static_cast<size_t>(kLayers));
  ASSERT_EQ(back.size(), static_cast<size_t>(kLayers));
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    EXPECT_EQ(out[i].last, out[i + 1].first - 2);
    EXPECT_EQ(back[i + 1].first, back[i].last + 2);
  }
  for (const std::vector<CopyHold>& holds : {out, back}) {
    for (const CopyHold& hold : holds) {
      EXPECT_LE(hold.last - hold.first, kMostStagesBesideCopy);
      EXPECT_EQ(own.fusion.stages[static_cast<size_t>(hold.first)].phase,
                own.fusion.stages[static_cast<size_t>(hold.last)].phase);
    }
  }
}

// No stage up to the end of the hold writes where a value lies that may be under way.
TEST(HostCopiesTest, NothingIsWrittenWhereACopyReads) {
  const Laid own = LayOut(Retention::kOffload);
  const auto overlap = [&](ValueId a, ValueId b) {
    const BufferPlan::Buffer* const x = own.storage.buffers.Find(*own.storage.root[a]);
    const BufferPlan::Buffer* const y = own.storage.buffers.Find(*own.storage.root[b]);
    return y != nullptr && x->offset < y->offset + y->size.value() && y->offset < x->offset + x->size.value();
  };
  int looked_at = 0;
  for (const CopyHold& hold : HoldsOfCopies(own.program, own.fusion)) {
    const bool goes_out = hold.direction == HostCopy::Direction::kOut;
    for (int stage = hold.first; stage <= hold.last; ++stage) {
      if (stage == (goes_out ? hold.first : hold.last)) continue;
      for (const int i : StepsOf(own.fusion.stages[static_cast<size_t>(stage)])) {
        const Step& step = own.program.steps[static_cast<size_t>(i)];
        for (const ValueId value : Writes(step)) {
          if (!own.storage.root[value].has_value()) continue;
          EXPECT_FALSE(overlap(hold.value, value)) << own.program.value(hold.value).name << " " << step.name;
          ++looked_at;
        }
      }
    }
  }
  EXPECT_GT(looked_at, 2 * kLayers);
}

}  // namespace
}  // namespace cleave::ir
