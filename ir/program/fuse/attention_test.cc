#include "ir/program/fuse/attention.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/training/training.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/plans.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

// Two samples with two heads of six queries, which share one of keys, and a loss. `computed`: query, keys and values
// are not parameters themselves.
Graph Model(bool computed) {
  GraphBuilder builder;
  const auto tensor = [&](int64_t heads, const std::string& name) {
    const OpId parameter = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{2, heads, 6, 4}}}, name);
    return computed ? builder.Add(OpKind::kSquare, {parameter}, {}, name + ".square") : parameter;
  };
  const Attributes attributes = {{attribute::kFactor, 0.5}, {attribute::kCausal, true}};
  const OpId q = tensor(2, "q"), k = tensor(1, "k"), v = tensor(1, "v");
  const OpId statistics = builder.Add(OpKind::kAttentionLogsumexp, {q, k}, attributes, "logsumexp");
  const OpId mixed = builder.Add(OpKind::kAttention, {q, k, v, statistics}, attributes, "mixed");
  builder.mutable_graph().loss =
      builder.Add(OpKind::kReduceMean, {mixed}, {{attribute::kAxes, std::vector<int64_t>{}}}, "mean");
  return std::move(builder).Build();
}

Program ProgramOf(const Graph& graph) {
  absl::StatusOr<Program> program = Partition(graph, DataParallelPlan(graph, Mesh::OfDevices(1)));
  CLEAVE_CHECK(program.ok()) << program.status();
  return *std::move(program);
}

Graph Trained(bool computed = false) {
  absl::StatusOr<Graph> graph = Differentiate(Model(computed), TestOptimizer());
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return *std::move(graph);
}

std::string NamesOf(const Program& program, const std::vector<int>& steps) {
  return absl::StrJoin(steps, " ",
                       [&](std::string* out, int i) { *out += program.steps[static_cast<size_t>(i)].name; });
}

TEST(FindAttention, EachDirectionIsOnePiece) {
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    const Program program = ProgramOf(ApplyPrecision(Trained(), precision).graph);
    const Attention found = FindAttention(program);
    ASSERT_EQ(found.forward.size(), 1u);
    const AttentionForward& forward = found.forward[0];
    EXPECT_EQ(NamesOf(program, forward.steps), "logsumexp mixed");
    EXPECT_EQ(program.value(*forward.output).name, "mixed");
    EXPECT_EQ(program.value(*forward.logsumexp).name, "logsumexp");
    EXPECT_EQ(program.value(*forward.logsumexp).type.dtype, DType::kF32);
    ASSERT_EQ(found.backward.size(), 1u);
    const AttentionBackward& backward = found.backward[0];
    EXPECT_EQ(backward.steps.size(), 3u);
    EXPECT_EQ(backward.inputs, forward.inputs);
    EXPECT_EQ(backward.output, forward.output);
    EXPECT_EQ(backward.logsumexp, forward.logsumexp);
    EXPECT_TRUE(backward.q_gradient.has_value() && backward.k_gradient.has_value() && backward.v_gradient.has_value());
  }
}

TEST(FindAttention, WithoutATrainingOnlyTheResult) {
  Graph graph = Model(false);
  Op& mixed = graph.ops[*graph.Find("mixed")];
  mixed.inputs.pop_back();
  const Attention found = FindAttention(ProgramOf(graph));
  EXPECT_TRUE(found.backward.empty());
  const auto has_result = [](const AttentionForward& piece) { return piece.output.has_value(); };
  EXPECT_EQ(absl::c_count_if(found.forward, has_result), 1);
  // Statistics that the result does not belong to are a piece of their own.
  EXPECT_EQ(found.forward.size(), 2u);
}

// Where the backward pass makes what it reads again, it makes the result alone: the statistics have been kept.
TEST(FindAttention, TheResultMayBeMadeAgainByItself) {
  const Graph graph = Trained(true);
  Plan plan = DataParallelPlan(graph, Mesh::OfDevices(1));
  for (const char* op : {"q.square", "k.square", "v.square", "mixed"}) {
    plan.ops[*graph.Find(op)].retention = Retention::kRecompute;
  }
  const Program program = *Partition(graph, plan);
  const Attention found = FindAttention(program);
  ASSERT_EQ(found.forward.size(), 2u);
  EXPECT_TRUE(found.forward[0].logsumexp.has_value());
  EXPECT_EQ(NamesOf(program, found.forward[1].steps), "mixed.again");
  EXPECT_EQ(program.value(found.forward[1].inputs.q).name, "q.square.again");
  ASSERT_EQ(found.backward.size(), 1u);
  EXPECT_EQ(found.backward[0].steps.size(), 3u);
  EXPECT_EQ(program.value(*found.backward[0].output).name, "mixed.again");
  EXPECT_EQ(program.value(found.backward[0].logsumexp).name, "logsumexp");
}

// Ranks may cut the sums over keys and over queries each in its own way: then these are calls of their own.
TEST(FindAttention, GradientsThatAreCutOtherwiseAreApart) {
  const Graph graph = Trained();
  Plan plan = DataParallelPlan(graph, Mesh::OfDevices(2));
  // Factors b0, h, g, r, c, e, v: the gradient by the queries is a sum over halves of the keys.
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kAttentionGradientQuery) continue;
    plan.ops[op.id].strategy.cuts.assign(7, {});
    plan.ops[op.id].strategy.cuts[4] = plan.mesh.AxisIds();
  }
  const Program program = *Partition(graph, plan);
  const Attention found = FindAttention(program);
  ASSERT_EQ(found.backward.size(), 2u);
  EXPECT_EQ(found.backward[0].steps.size() + found.backward[1].steps.size(), 3u);
}

// As with a cast of a gradient to f32, which stands behind the op that makes it and before the others.
TEST(FindAttention, ResultsMayBeReadBetweenItsSteps) {
  Program program = ProgramOf(Trained());
  const AttentionBackward whole = FindAttention(program).backward.front();
  // A reader of the result of the first step, right behind it.
  Step reader = program.steps[static_cast<size_t>(whole.steps[0])];
  Compute& compute = std::get<Compute>(reader.action);
  reader.name = "reader";
  compute.kind = OpKind::kScale;
  compute.attributes = {};
  compute.attributes.Set(attribute::kFactor, 2.0);
  compute.inputs = {compute.output};
  program.values.push_back(program.value(compute.output));
  compute.output = ValueId(static_cast<int64_t>(program.values.size()) - 1);
  program.steps.insert(program.steps.begin() + whole.steps[0] + 1, reader);
  const Attention found = FindAttention(program);
  ASSERT_EQ(found.backward.size(), 1u);
  EXPECT_EQ(found.backward[0].place, whole.steps[0]);
  const Fusion fusion = Fuse(program);
  EXPECT_LT(fusion.written_by[*whole.k_gradient], fusion.written_by[compute.output]);
}

// The pieces stay apart where a step of one must wait for what stands between them.
TEST(FindAttention, APieceHasAPlace) {
  for (const Graph& graph : {Trained(), Trained(true)}) {
    const Program program = ProgramOf(graph);
    const Fusion fusion = Fuse(program);
    for (const FusedStage& stage : fusion.stages) {
      std::set<int> own;
      for (const int i : StepsOf(stage)) own.insert(i);
      for (const int i : own) {
        for (const ValueId read : Reads(program.steps[static_cast<size_t>(i)])) {
          const int by = fusion.written_by[read];
          EXPECT_TRUE(by < 0 || by <= static_cast<int>(&stage - fusion.stages.data()));
        }
      }
    }
  }
}

// Without gradients nothing of the rows is kept.
TEST(Fuse, StatisticsThatNobodyElseReadsAreNotStored) {
  const Graph graph = Model(false);
  const Program program = ProgramOf(graph);
  const Fusion fusion = Fuse(program);
  const Storage storage = PlanStorage(program, fusion);
  const Attention found = FindAttention(program);
  ASSERT_EQ(found.forward.size(), 1u);
  EXPECT_FALSE(storage.root[*found.forward[0].logsumexp].has_value());
  EXPECT_TRUE(storage.root[*found.forward[0].output].has_value());
}

}  // namespace
}  // namespace cleave::ir
