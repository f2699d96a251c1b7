// Compares gradients of manual models with central finite differences, on all ranks and in double.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/text.h"
#include "ir/proof/interpret/interpret_ranks.h"
#include "ir/testing/graphs.h"
#include "ir/testing/random_manual_model.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

constexpr uint64_t kManualSeed = 12;
constexpr double kStep = 1e-6;
constexpr int kElementsPerParameter = 4;

using Ints = std::vector<int64_t>;

std::vector<std::vector<RankAxis>> Meshes() {
  return {{{"world", 2}},         {{"world", 3}},         {{"world", 4}},
          {{"world", 8}},         {{"dp", 2}, {"tp", 2}}, {{"dp", 3}, {"tp", 2}},
          {{"dp", 2}, {"tp", 4}}, {{"dp", 4}, {"tp", 2}}, {{"a", 2}, {"b", 2}, {"c", 2}},
          {{"dp", 2}, {"tp", 1}}};
}

const TestOptimizer kMomentum = {.kind = TestOptimizer::Kind::kMomentum, .rate = 0.1};

double LossOf(const Graph& forward, const RankSources& sources) {
  const TensorOnRanks loss = InterpretRanks(forward, sources, 1)[*forward.loss];
  for (const Tensor& value : loss) EXPECT_EQ(value, loss[0]);
  return loss[0].values[0];
}

// The change of the loss when element `element` of a parameter changes: on `rank` if the parameter is local, else on
// all ranks at once.
double Difference(const Graph& forward, const RankSources& sources, const Op& parameter, size_t rank, size_t element) {
  const auto moved = [&](double by) {
    RankSources changed = sources;
    TensorOnRanks& values = changed[parameter.id];
    for (size_t r = 0; r < values.size(); ++r) {
      if (r == rank || !parameter.attributes.Get(attribute::kLocal)) values[r].values[element] += by;
    }
    return LossOf(forward, changed);
  };
  return (moved(kStep) - moved(-kStep)) / (2 * kStep);
}

// Checks the gradient of some elements of every parameter. Returns how many gradients were not zero.
int CheckGradients(const Graph& forward, const RankSources& sources, Random& random) {
  const Graph graph = TrainingGraph(forward, kMomentum);
  const std::vector<std::string> errors = VerifyGraph(graph);
  EXPECT_TRUE(errors.empty()) << errors[0];
  RankSources with_states = sources;
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kState)
      with_states[op.id].assign(static_cast<size_t>(RankCount(graph.rank_axes)), Zeros(op.type.shape));
  }
  const IdVector<OpId, TensorOnRanks> values = InterpretRanks(graph, with_states, 1);
  int not_zero = 0;
  for (const Op& op : graph.ops) {
    if (!op.gradient_of.has_value() || graph.op(*op.gradient_of).kind != OpKind::kParameter) continue;
    const Op& parameter = graph.op(*op.gradient_of);
    for (int i = 0; i < kElementsPerParameter; ++i) {
      const size_t rank = random() % values[op.id].size();
      const size_t element = random() % values[op.id][rank].values.size();
      const double actual = values[op.id][rank].values[element];
      const double expected = Difference(forward, sources, parameter, rank, element);
      EXPECT_NEAR(actual, expected, 1e-7 * (1 + std::abs(expected)))
          << parameter.name << ", rank " << rank << ", element " << element;
      if (std::abs(expected) > 1e-4) ++not_zero;
    }
  }
  return not_zero;
}

// Ranks that differ only on axes over which a value does not vary must hold exactly the same value.
void CheckVariance(const Graph& graph, const RankSources& sources) {
  const IdVector<OpId, TensorOnRanks> values = InterpretRanks(graph, sources, 1);
  const IdVector<OpId, RankAxisSet> variance = VarianceOf(graph);
  const RankAxisSet all = AllAxes(graph.rank_axes);
  for (const Op& op : graph.ops) {
    const TensorOnRanks& on_ranks = values[op.id];
    for (size_t rank = 0; rank < on_ranks.size(); ++rank) {
      const RankAxisSet equal = all - variance[op.id];
      const Ints members = GroupMembers(graph.rank_axes, equal, static_cast<int64_t>(rank));
      ASSERT_EQ(on_ranks[rank], on_ranks[static_cast<size_t>(members[0])])
          << op.name << ", " << VarianceText(graph.rank_axes, variance[op.id]) << ", rank " << rank;
    }
  }
}

void CheckModel(const Graph& forward, Random& random, int& not_zero) {
  ASSERT_TRUE(VerifyGraph(forward).empty()) << VerifyGraph(forward)[0] << "\n" << GraphText(forward);
  SCOPED_TRACE(GraphText(forward));
  const RankSources sources = RandomRankSources(forward, random);
  not_zero += CheckGradients(forward, sources, random);
  const Graph graph = TrainingGraph(forward, kMomentum);
  RankSources all_sources = RandomRankSources(graph, random);
  CheckVariance(graph, all_sources);
}

TEST(ManualGradientsTest, EveryPrimitiveOnEveryMesh) {
  for (const std::string& primitive : CommunicationPrimitives()) {
    int not_zero = 0;
    for (const std::vector<RankAxis>& axes : Meshes()) {
      for (uint64_t round = 0; round < 12; ++round) {
        SCOPED_TRACE(absl::StrCat(primitive, " on ", RankCount(axes), " ranks, seed ", kManualSeed + round));
        Random random(kManualSeed + round);
        const RandomModelOptions options = {
            .axes = axes, .steps = 1 + static_cast<int>(round) / 3, .primitive = primitive};
        CheckModel(RandomManualModel(options, random), random, not_zero);
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(not_zero, 300) << primitive;
  }
}

TEST(ManualGradientsTest, RandomModels) {
  int not_zero = 0;
  for (uint64_t round = 0; round < 30; ++round) {
    for (const std::vector<RankAxis>& axes : Meshes()) {
      SCOPED_TRACE(absl::StrCat(RankCount(axes), " ranks, seed ", kManualSeed + round));
      Random random(kManualSeed + round);
      CheckModel(RandomManualModel({.axes = axes, .steps = 12}, random), random, not_zero);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(not_zero, 1000);
}

// The gradients of an all_reduce of a local parameter of one element, with these values on the ranks and dy = 1.
std::vector<double> ReductionGradients(const std::string& reduction, const std::vector<double>& values) {
  GraphBuilder builder;
  builder.mutable_graph().rank_axes = {{"world", static_cast<int64_t>(values.size())}};
  const OpId x = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{}}, {attribute::kLocal, true}}, "x");
  builder.mutable_graph().loss = builder.Add(OpKind::kAllReduce, {x},
                                             {{attribute::kGroup, "world"},
                                              {attribute::kSize, static_cast<int64_t>(values.size())},
                                              {attribute::kReduction, reduction}},
                                             "y");
  RankSources sources;
  for (double value : values) sources[x].push_back({.shape = {}, .values = {value}});
  const Graph graph = *Differentiate(std::move(builder).Build(), {.rate = 1});
  std::vector<double> gradients;
  const IdVector<OpId, TensorOnRanks> all = InterpretRanks(graph, sources, 1);
  for (const Tensor& value : all[*graph.Find("x.grad")]) gradients.push_back(value.values[0]);
  return gradients;
}

TEST(ManualGradientsTest, ReductionsWhereTheyAreSpecial) {
  using Numbers = std::vector<double>;
  EXPECT_EQ(ReductionGradients("prod", {2, 3, -4}), (Numbers{-12, -8, 6}));
  EXPECT_EQ(ReductionGradients("prod", {2, 0, -4}), (Numbers{0, -8, 0}));
  EXPECT_EQ(ReductionGradients("prod", {0, 3, 0}), (Numbers{0, 0, 0}));
  EXPECT_EQ(ReductionGradients("max", {1, 5, 5, 2}), (Numbers{0, 0.5, 0.5, 0}));
  EXPECT_EQ(ReductionGradients("min", {1, 5, 1, 1, 2}), (Numbers{1.0 / 3, 0, 1.0 / 3, 1.0 / 3, 0}));
}

// Rows are dealt to the ranks, and the loss is the mean of the ranks' mean losses: loss and gradient are those of one
// device.
TEST(ManualGradientsTest, AsOneDevice) {
  const auto build = [](std::vector<RankAxis> axes) {
    const int64_t ranks = RankCount(axes);
    GraphBuilder builder;
    const bool manual = !axes.empty();
    builder.mutable_graph().rank_axes = std::move(axes);
    OpId x = builder.Add(OpKind::kInput, {}, {{attribute::kShape, Shape{12, 3}}, {attribute::kData, "x"}}, "x");
    const OpId weight = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{3, 4}}}, "weight");
    if (manual) {
      Ints starts;
      for (int64_t rank = 0; rank < ranks; ++rank) starts.push_back(rank * 12 / ranks);
      x = builder.Add(OpKind::kRankSlice, {x},
                      {{attribute::kAxis, 0}, {attribute::kSize, 12 / ranks}, {attribute::kStarts, starts}}, "rows");
    }
    const OpId y = builder.Add(OpKind::kTanh, {builder.Add(OpKind::kMatmul, {x, weight}, {}, "product")}, {}, "y");
    OpId loss = builder.Add(OpKind::kReduceMean, {builder.Add(OpKind::kSquare, {y}, {}, "squares")}, {}, "mean");
    if (manual) {
      loss = builder.Add(OpKind::kAllReduce, {loss}, {{attribute::kGroup, "dp tp"}, {attribute::kSize, ranks}}, "sum");
      loss = builder.Add(OpKind::kScale, {loss}, {{attribute::kFactor, 1.0 / static_cast<double>(ranks)}}, "loss");
    }
    builder.mutable_graph().loss = loss;
    return TrainingGraph(std::move(builder).Build(), kMomentum);
  };
  const Graph ranks = build({{"dp", 3}, {"tp", 2}});
  // One device: the same model on one rank, without communication.
  Graph one = build({});
  one.rank_axes = {{"world", 1}};
  Random random(kManualSeed);
  RankSources on_one = RandomRankSources(one, random);
  RankSources on_ranks;
  for (const auto& [id, values] : on_one) {
    on_ranks[*ranks.Find(one.op(id).name)].assign(6, values[0]);
  }
  const auto result = [](const Graph& graph, const RankSources& sources, const std::string& name) {
    return InterpretRanks(graph, sources, 1)[*graph.Find(name)];
  };
  const Tensor expected = result(one, on_one, "weight.new")[0];
  for (const Tensor& actual : result(ranks, on_ranks, "weight.new")) {
    for (size_t i = 0; i < expected.values.size(); ++i) EXPECT_NEAR(actual.values[i], expected.values[i], 1e-12);
  }
  EXPECT_NEAR(InterpretRanks(ranks, on_ranks, 1)[*ranks.loss][5].values[0],
              InterpretRanks(one, on_one, 1)[*one.loss][0].values[0], 1e-12);
}

}  // namespace
}  // namespace cleave::ir
