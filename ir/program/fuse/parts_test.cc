#include "ir/program/fuse/parts.h"

#include <string>
#include <utility>
#include <vector>

#include "base/check/check.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/plans.h"
#include "ir/testing/sources.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

// The names in `PackedModel` are those of GPT-2: a product with three parts, of which attention reads heads. `whole`:
// its shape. `axis`: the dimension along which it consists of queries, keys and values, and where each begins.
struct Packed {
  Shape whole;
  size_t axis;
  std::vector<int64_t> begins;
  std::vector<int64_t> sizes;
};

// Two samples of five rows, with heads of eight elements inside of rows.
constexpr int64_t kSamples = 2, kPlaces = 5, kWidth = 8;

OpId MeanOf(GraphBuilder& b, OpId value, const std::string& name) {
  return b.Add(OpKind::kReduceMean, {value}, {{attribute::kAxes, std::vector<int64_t>{}}}, name);
}

OpId HeadsOf(GraphBuilder& b, OpId whole, const Packed& packed, size_t number, const std::string& name) {
  Shape begin(packed.whole.size(), 0), end = packed.whole;
  begin[packed.axis] = packed.begins[number];
  end[packed.axis] = packed.begins[number] + packed.sizes[number];
  const OpId slice =
      b.Add(OpKind::kSlice, {whole}, {{attribute::kBegin, begin}, {attribute::kEnd, end}}, name + ".slice");
  int64_t width = 1;
  for (size_t d = 2; d < end.size(); ++d) width *= end[d] - begin[d];
  return b.Add(OpKind::kReshape, {slice}, {{attribute::kShape, Shape{kSamples, kPlaces, width / kWidth, kWidth}}},
               name);
}

// A product that is cut into queries, keys and values, and their attention. `prefix`: of all names.
OpId Mixed(GraphBuilder& b, const Packed& packed, const std::string& prefix = "") {
  const OpId parameter = AddParameter(b, prefix + "parameter", packed.whole);
  const OpId product = b.Add(OpKind::kSquare, {parameter}, {}, prefix + "product");
  const auto part = [&](size_t number, const char* name) { return HeadsOf(b, product, packed, number, prefix + name); };
  const OpId q = part(0, "q"), k = part(1, "k"), v = part(2, "v");
  const Attributes attributes = {{attribute::kFactor, 0.5},
                                 {attribute::kHeadsInside, std::vector<int64_t>{1, 1, 1, 1}}};
  const OpId statistics = b.Add(OpKind::kAttentionLogsumexp, {q, k}, attributes, prefix + "statistics");
  return b.Add(OpKind::kAttention, {q, k, v, statistics}, attributes, prefix + "mixed");
}

Graph TrainedBy(GraphBuilder b, OpId loss) {
  b.mutable_graph().loss = loss;
  absl::StatusOr<Graph> graph = Differentiate(std::move(b).Build(), TestOptimizer());
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return *std::move(graph);
}

Graph PackedModel(const Packed& packed) {
  GraphBuilder b;
  const OpId mixed = Mixed(b, packed);
  const OpId loss = MeanOf(b, mixed, "mean");
  return TrainedBy(std::move(b), loss);
}

Program ProgramOn(const Graph& graph, const Plan& plan) {
  absl::StatusOr<Program> program = Partition(graph, plan);
  CLEAVE_CHECK(program.ok()) << program.status();
  return *std::move(program);
}
Program ProgramOn(const Graph& graph, int64_t ranks = 1) {
  return ProgramOn(graph, DataParallelPlan(graph, Mesh::OfDevices(ranks)));
}

ValueId ValueNamed(const Program& program, const std::string& name) {
  for (size_t i = 0; i < program.values.size(); ++i) {
    if (program.values[ValueId(static_cast<int64_t>(i))].name == name) return ValueId(static_cast<int64_t>(i));
  }
  CLEAVE_CHECK(false) << name;
  return ValueId(0);
}

const Step& WriterOf(const Program& program, ValueId value) {
  for (const Step& step : program.steps) {
    for (const ValueId written : Writes(step)) {
      if (written == value) return step;
    }
  }
  CLEAVE_CHECK(false);
  return program.steps.front();
}

bool IsPart(const Program& program, const std::string& name) {
  return FindParts(program).contains(ValueNamed(program, name));
}

using StridesOnRank = std::vector<int64_t>;

TEST(Parts, OfHeadsAreWhereTheProductHasThem) {
  const Program program = ProgramOn(PackedModel({{kSamples, kPlaces, 2, 3, kWidth}, 3, {0, 1, 2}, {1, 1, 1}}));
  const Parts parts = FindParts(program);
  int64_t begin = 0;
  for (const char* name : {"q", "k", "v"}) {
    const PartOnRank local = PartOn(program, parts.at(ValueNamed(program, name)), 0);
    EXPECT_EQ(local.begin, begin) << name;
    EXPECT_EQ(local.strides, (StridesOnRank{kPlaces * 48, 48, 24, 1})) << name;
    EXPECT_EQ(parts.at(ValueNamed(program, name)).whole, ValueNamed(program, "product"));
    EXPECT_TRUE(LiesInPlace(parts, WriterOf(program, ValueNamed(program, std::string(name) + ".slice"))));
    begin += kWidth;
  }
}

TEST(Parts, MayBeOneBehindTheOther) {
  // Heads in the last dimension but one, and columns of a matrix; grouped queries.
  const Packed heads = {{kSamples, kPlaces, 3, 2, kWidth}, 2, {0, 1, 2}, {1, 1, 1}};
  const Program by_heads = ProgramOn(PackedModel(heads));
  EXPECT_EQ(PartOn(by_heads, FindParts(by_heads).at(ValueNamed(by_heads, "v")), 0).begin, 2 * 2 * kWidth);
  EXPECT_EQ(PartOn(by_heads, FindParts(by_heads).at(ValueNamed(by_heads, "v")), 0).strides,
            (StridesOnRank{kPlaces * 48, 48, kWidth, 1}));
  const Packed columns = {
      {kSamples, kPlaces, 8 * kWidth}, 2, {0, 4 * kWidth, 6 * kWidth}, {4 * kWidth, 2 * kWidth, 2 * kWidth}};
  const Program by_columns = ProgramOn(PackedModel(columns));
  const PartOnRank values = PartOn(by_columns, FindParts(by_columns).at(ValueNamed(by_columns, "v")), 0);
  EXPECT_EQ(values.begin, 6 * kWidth);
  EXPECT_EQ(values.strides, (StridesOnRank{kPlaces * 64, 64, kWidth, 1}));
}

TEST(Parts, GradientsAreWrittenIntoThatOfTheProduct) {
  const Program program = ProgramOn(PackedModel({{kSamples, kPlaces, 2, 3, kWidth}, 3, {0, 1, 2}, {1, 1, 1}}));
  const Fusion fusion = Fuse(program);
  const Storage storage = PlanStorage(program, fusion);
  const Attention attention = FindAttention(program);
  ASSERT_EQ(attention.backward.size(), 1u);
  const AttentionBackward& backward = attention.backward.front();
  const ValueId whole = fusion.parts.at(*backward.q_gradient).whole;
  EXPECT_EQ(program.value(whole).type.shape, (Shape{kSamples, kPlaces, 2, 3, kWidth}));
  for (const std::optional<ValueId>& gradient :
       {backward.q_gradient, backward.k_gradient, backward.v_gradient, std::optional(whole)}) {
    EXPECT_EQ(storage.root[*gradient], storage.root[whole]);
  }
  EXPECT_EQ(PartOn(program, fusion.parts.at(*backward.k_gradient), 0).begin, kWidth);
  EXPECT_TRUE(fusion.DoesNothing(WriterOf(program, whole)));
  for (const Step& step : program.steps) {
    if (!std::holds_alternative<Compute>(step.action)) continue;
    const bool moves = ComputeOf(step)->kind == OpKind::kSlice || ComputeOf(step)->kind == OpKind::kConcat;
    EXPECT_TRUE(!moves || fusion.DoesNothing(step)) << step.name;
  }
}

TEST(Parts, OnRanksThatCutHeads) {
  // Three heads for two ranks: one has one of them, the other has two.
  const Graph graph = PackedModel({{kSamples, kPlaces, 3, 3, kWidth}, 3, {0, 1, 2}, {1, 1, 1}});
  Plan plan = DataParallelPlan(graph, Mesh::OfDevices(2));
  for (OpPlan& op : plan.ops) {
    for (AxisList& cut : op.strategy.cuts) cut.clear();
  }
  const auto cut = [&](const std::string& op, size_t factor) {
    plan.ops[*graph.Find(op)].strategy.cuts[factor] = plan.mesh.AxisIds();
  };
  for (const char* op : {"product", "q.slice", "k.slice", "v.slice", "q", "k", "v"}) cut(op, 2);
  // Factors b0, h, g, r, c, e of attention and of its gradients.
  for (const Op& op : graph.ops) {
    if (IsOfAttention(op.kind)) plan.ops[op.id].strategy.cuts[1] = plan.mesh.AxisIds();
  }
  const Program program = ProgramOn(graph, plan);
  const Parts parts = FindParts(program);
  for (int rank = 0; rank < 2; ++rank) {
    const int64_t heads = LocalShape(program, ValueNamed(program, "q"), rank)[2];
    EXPECT_EQ(heads, 1 + rank);
    const PartOnRank local = PartOn(program, parts.at(ValueNamed(program, "k")), rank);
    EXPECT_EQ(local.begin, kWidth);
    EXPECT_EQ(local.strides, (StridesOnRank{kPlaces * heads * 24, heads * 24, 24, 1}));
  }
}

TEST(Parts, AreMadeWhereSomethingElseReadsThem) {
  const Packed packed = {{kSamples, kPlaces, 2, 3, kWidth}, 3, {0, 1, 2}, {1, 1, 1}};
  GraphBuilder b;
  const OpId mixed = Mixed(b, packed);
  const OpId square = b.Add(OpKind::kSquare, {*b.graph().Find("v.slice")}, {}, "square");
  const OpId loss = b.Add(OpKind::kAdd, {MeanOf(b, mixed, "mean"), MeanOf(b, square, "other")}, {}, "loss");
  const Program program = ProgramOn(TrainedBy(std::move(b), loss));
  EXPECT_FALSE(IsPart(program, "v"));
  // Then the product would be kept for two parts of it, unless its square reads it in the backward pass.
  EXPECT_FALSE(IsPart(program, "q"));
  EXPECT_FALSE(IsPart(program, "k"));
}

TEST(Parts, KeepATensorThatIsKeptAnyway) {
  const Packed packed = {{kSamples, kPlaces, 2, 4, kWidth}, 3, {0, 1, 3}, {1, 1, 1}};
  const Program alone = ProgramOn(PackedModel(packed));
  EXPECT_FALSE(IsPart(alone, "q"));
  GraphBuilder b;
  const OpId mixed = Mixed(b, packed);
  const OpId square = b.Add(OpKind::kSquare, {*b.graph().Find("product")}, {}, "square");
  const OpId loss = b.Add(OpKind::kAdd, {MeanOf(b, mixed, "mean"), MeanOf(b, square, "other")}, {}, "loss");
  const Program read = ProgramOn(TrainedBy(std::move(b), loss));
  EXPECT_TRUE(IsPart(read, "q"));
}

TEST(Parts, NeedNeighboursAlongRows) {
  // The elements of a row are three apart.
  const Program program = ProgramOn(PackedModel({{kSamples, kPlaces, 2, kWidth, 3}, 4, {0, 1, 2}, {1, 1, 1}}));
  EXPECT_TRUE(FindParts(program).empty());
}

TEST(Parts, ResultsAreWrittenIntoAConcatenation) {
  const Packed packed = {{kSamples, kPlaces, 2, 3, kWidth}, 3, {0, 1, 2}, {1, 1, 1}};
  const auto joined = [&](bool twice) {
    GraphBuilder b;
    const OpId mixed = Mixed(b, packed), other = twice ? mixed : Mixed(b, packed, "other.");
    const OpId both = b.Add(OpKind::kConcat, {mixed, other}, {{attribute::kAxis, int64_t{2}}}, "both");
    // The square is what keeps it for the backward pass.
    const OpId loss = MeanOf(b, b.Add(OpKind::kSquare, {both}, {}, "square"), "mean");
    return ProgramOn(TrainedBy(std::move(b), loss));
  };
  const Program program = joined(false);
  const Parts parts = FindParts(program);
  const Part& other = parts.at(ValueNamed(program, "other.mixed"));
  EXPECT_EQ(other.whole, ValueNamed(program, "both"));
  EXPECT_EQ(PartOn(program, other, 0).begin, 2 * kWidth);
  EXPECT_EQ(PartOn(program, other, 0).strides, (StridesOnRank{kPlaces * 32, 32, kWidth, 1}));
  // Its two halves cannot be in one place.
  EXPECT_FALSE(IsPart(joined(true), "mixed"));
}

TEST(Parts, AreNoneWhereTheTargetHasNone) {
  const Program program = ProgramOn(PackedModel({{kSamples, kPlaces, 2, 3, kWidth}, 3, {0, 1, 2}, {1, 1, 1}}));
  EXPECT_TRUE(Fuse(program, {.uses_parts = false}).parts.empty());
}

}  // namespace
}  // namespace cleave::ir
