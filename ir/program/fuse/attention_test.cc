#include "ir/program/fuse/attention.h"

#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/training/training.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/plans.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

constexpr int64_t kLargestHead = 128;

struct Variant {
  bool scaled = true;
  bool causal = true;
  double fill = -1e9;
  bool weights_are_read = false;  // By an op outside of the attention.
  int64_t head = 4;
};

// Two matrices of 6 queries and keys, whose tensors are parameters, and a loss.
Graph Model(const Variant& variant) {
  GraphBuilder builder;
  const Shape shape = {2, 6, variant.head};
  const OpId q = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, "q");
  const OpId k = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, "k");
  const OpId v = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, "v");
  OpId scores = builder.Add(OpKind::kMatmul, {q, k}, {{attribute::kTransposeB, true}}, "product");
  if (variant.scaled) scores = builder.Add(OpKind::kScale, {scores}, {{attribute::kFactor, 0.5}}, "scaled");
  if (variant.causal) scores = builder.Add(OpKind::kCausalMask, {scores}, {{attribute::kFill, variant.fill}}, "masked");
  const OpId weights = builder.Add(OpKind::kSoftmax, {scores}, {}, "weights");
  const OpId mixed = builder.Add(OpKind::kMatmul, {weights, v}, {}, "mixed");
  OpId loss = builder.Add(OpKind::kReduceMean, {mixed}, {{attribute::kAxes, std::vector<int64_t>{}}}, "mean");
  if (variant.weights_are_read) {
    const OpId other =
        builder.Add(OpKind::kReduceMean, {weights}, {{attribute::kAxes, std::vector<int64_t>{}}}, "other");
    loss = builder.Add(OpKind::kAdd, {loss, other}, {}, "loss");
  }
  builder.mutable_graph().loss = loss;
  return std::move(builder).Build();
}

Program ProgramOf(const Graph& graph) {
  absl::StatusOr<Program> program = Partition(graph, DataParallelPlan(graph, Mesh::OfDevices(1)));
  CLEAVE_CHECK(program.ok()) << program.status();
  return *std::move(program);
}

Program Trained(const Variant& variant) {
  absl::StatusOr<Graph> graph = Differentiate(Model(variant), Optimizer());
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return ProgramOf(*graph);
}

std::string NamesOf(const Program& program, const std::vector<int>& steps) {
  return absl::StrJoin(steps, " ",
                       [&](std::string* out, int i) { *out += program.steps[static_cast<size_t>(i)].name; });
}

TEST(FindAttention, TakesBothDirections) {
  const Program program = Trained({});
  const std::vector<Attention> found = FindAttention(program, kLargestHead);
  ASSERT_EQ(found.size(), 1u);
  const AttentionForward& forward = found[0].forward;
  EXPECT_EQ(NamesOf(program, forward.steps), "product scaled masked weights mixed");
  EXPECT_EQ(program.value(forward.inputs.q).name, "q");
  EXPECT_EQ(program.value(forward.inputs.k).name, "k");
  EXPECT_EQ(program.value(forward.inputs.v).name, "v");
  EXPECT_EQ(program.value(forward.output).name, "mixed");
  EXPECT_EQ(forward.inputs.scale, 0.5);
  EXPECT_TRUE(forward.inputs.causal);
  ASSERT_TRUE(found[0].backward.has_value());
  const AttentionBackward& backward = *found[0].backward;
  EXPECT_EQ(backward.steps.size(), 7u);
  EXPECT_EQ(program.value(backward.output_gradient).name, "mixed.grad");
  EXPECT_EQ(program.value(backward.q_gradient).name, "q.grad");
  EXPECT_EQ(program.value(backward.k_gradient).name, "k.grad");
  EXPECT_EQ(program.value(backward.v_gradient).name, "v.grad");
}

TEST(FindAttention, ScaleAndMaskMayBeMissing) {
  for (const bool scaled : {false, true}) {
    for (const bool causal : {false, true}) {
      const std::vector<Attention> found = FindAttention(Trained({.scaled = scaled, .causal = causal}), kLargestHead);
      ASSERT_EQ(found.size(), 1u) << scaled << causal;
      EXPECT_EQ(found[0].forward.inputs.causal, causal);
      EXPECT_EQ(found[0].forward.inputs.scale, scaled ? 0.5 : 1.0);
      EXPECT_TRUE(found[0].backward.has_value());
    }
  }
}

TEST(FindAttention, WithoutATrainingOnlyForward) {
  const std::vector<Attention> found = FindAttention(ProgramOf(Model({})), kLargestHead);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].backward.has_value());
}

TEST(FindAttention, LeavesWhatOthersNeed) {
  EXPECT_TRUE(FindAttention(Trained({.weights_are_read = true}), kLargestHead).empty());
  EXPECT_TRUE(FindAttention(Trained({.fill = -1}), kLargestHead).empty()) << "such a score has a weight";
  EXPECT_TRUE(FindAttention(Trained({.head = 8}), 4).empty()) << "heads are too large";
}

TEST(Fuse, AttentionKeepsScoresAndWeightsOutOfMemory) {
  const Program program = Trained({});
  EXPECT_EQ(Fuse(program).stages, Fuse(program, {.largest_attention_head = 0}).stages);
  const Fusion fusion = Fuse(program, {.largest_attention_head = kLargestHead});
  const Storage storage = PlanStorage(program, fusion);
  EXPECT_LT(storage.buffers.total, PlanStorage(program, Fuse(program)).buffers.total);
  int pieces = 0;
  for (const FusedStage& stage : fusion.stages) {
    pieces += std::holds_alternative<AttentionForward>(stage.action);
    pieces += std::holds_alternative<AttentionBackward>(stage.action);
  }
  EXPECT_EQ(pieces, 2);
  for (int i = 0; i < static_cast<int>(program.values.size()); ++i) {
    const TensorType& type = program.value(ValueId(i)).type;
    const bool is_scores = type.shape == Shape{2, 6, 6};
    EXPECT_TRUE(!is_scores || !storage.root[ValueId(i)].has_value()) << program.value(ValueId(i)).name;
  }
}

}  // namespace
}  // namespace cleave::ir
