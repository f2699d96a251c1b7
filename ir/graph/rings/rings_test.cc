#include "ir/graph/rings/rings.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/attention.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"
#include "ir/sharding/plan/plan.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/sources.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

using Ints = std::vector<int64_t>;

struct Shape4 {
  int64_t heads = 2, key_heads = 2, rows = 12, columns = 12;
  Ints inside = {1, 1, 1, 1};
};

Graph TrainingGraph(const Shape4& shape, Attributes attributes, bool has_ranges = false) {
  GraphBuilder builder;
  const auto tensor = [&](size_t part, int64_t heads, int64_t rows, const std::string& name) {
    const bool inside = shape.inside[part] != 0;
    return AddParameter(builder, name, {2, inside ? rows : heads, inside ? heads : rows, 4});
  };
  attributes.Set(attribute::kFactor, 0.5);
  attributes.Set(attribute::kHeadsInside, shape.inside);
  attributes.Set(attribute::kRanges, has_ranges);
  std::vector<OpId> scored = {tensor(0, shape.heads, shape.rows, "q"), tensor(1, shape.key_heads, shape.columns, "k")};
  const OpId v = tensor(2, shape.key_heads, shape.columns, "v");
  std::vector<OpId> ranges;
  if (has_ranges) {
    const OpId documents = AddInput(builder, "documents", {2, shape.rows}, DType::kI32);
    ranges = {builder.Add(OpKind::kRun, {documents}, {}, "first"),
              builder.Add(OpKind::kRun, {documents}, {{attribute::kReverse, true}}, "end")};
  }
  scored.insert(scored.end(), ranges.begin(), ranges.end());
  const OpId logs = builder.Add(OpKind::kAttentionLogsumexp, scored, attributes, "y.logsumexp");
  std::vector<OpId> read = {scored[0], scored[1], v, logs};
  read.insert(read.end(), ranges.begin(), ranges.end());
  const OpId y = builder.Add(OpKind::kAttention, read, attributes, "y");
  const OpId square = builder.Add(OpKind::kSquare, {y}, {}, "square");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {square}, {}, "loss");
  return *Differentiate(std::move(builder).Build(), TestOptimizer());
}

// Cuts the rows of all that goes round by these axes, and heads by others.
Plan PlanOf(const Graph& graph, const Mesh& mesh, const AxisList& rows, const AxisList& heads) {
  Plan plan;
  plan.mesh = mesh;
  for (const Op& op : graph.ops) {
    const Rule rule = RuleOf(graph, op);
    Strategy strategy = Strategy::Replicated(rule);
    if (op.attributes.IsSet(attribute::kRing)) {
      for (size_t f = 0; f < rule.factors.size(); ++f) {
        if (rule.factors[f].name == "r") strategy.cuts[f] = rows;
        if (rule.factors[f].name == "h") strategy.cuts[f] = heads;
      }
    }
    plan.ops.push_back({.strategy = std::move(strategy)});
  }
  return plan;
}

std::string ProofOf(const Graph& graph, const Distributed& distributed, const Program& program) {
  const std::vector<std::string> findings = CheckStatically(program);
  if (!findings.empty()) return absl::StrJoin(findings, "\n");
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, distributed, program);
  return report.ok() ? "" : std::string(report.status().message());
}

Graph Ringed(const Graph& graph) { return WithRings(graph, OpsOfRing(graph, *graph.Find("y"))); }

struct Made {
  Distributed distributed;
  Program program;
};

Made MadeOf(const Graph& graph, const Plan& plan) {
  EXPECT_EQ(absl::StrJoin(VerifyGraph(graph), "\n"), "");
  EXPECT_EQ(absl::StrJoin(VerifyPlan(graph, plan), "\n"), "");
  Distributed distributed = *Distribute(graph, plan);
  Program program = *Partition(distributed.graph, distributed.plan);
  return {std::move(distributed), std::move(program)};
}

TEST(RingsTest, AreProven) {
  const Attributes causal = {{attribute::kCausal, true}};
  const Attributes all[] = {{}, causal, {{attribute::kCausal, true}, {attribute::kWindow, 5}, {attribute::kCap, 1.5}}};
  const Shape4 shapes[] = {{}, {.heads = 4, .key_heads = 2, .inside = {0, 1, 0, 0}}};
  for (const int64_t ranks : {2, 3, 4, 6}) {
    for (const Attributes& attributes : all) {
      for (const Shape4& shape : shapes) {
        const Graph graph = Ringed(TrainingGraph(shape, attributes, ranks == 3));
        const Mesh mesh = *Mesh::Create({{.name = "m0", .size = ranks}});
        const Made made = MadeOf(graph, PlanOf(graph, mesh, {AxisId(0)}, {}));
        EXPECT_EQ(ProofOf(graph, made.distributed, made.program), "") << ranks;
      }
    }
  }
}

TEST(RingsTest, AreProvenWithHeadsOnAnotherAxis) {
  const Graph graph = Ringed(TrainingGraph({}, {{attribute::kCausal, true}}));
  const Mesh mesh = *Mesh::Create({{.name = "m0", .size = 2}, {.name = "m1", .size = 3}});
  const Made made = MadeOf(graph, PlanOf(graph, mesh, {AxisId(1)}, {AxisId(0)}));
  EXPECT_EQ(ProofOf(graph, made.distributed, made.program), "");
}

// Keys and values move three times in each direction, and so do their gradients, and then once more.
TEST(RingsTest, SendNoMoreThanWhatGathersKeys) {
  const Graph graph = Ringed(TrainingGraph({}, {{attribute::kCausal, true}}));
  const Mesh mesh = *Mesh::Create({{.name = "m0", .size = 4}});
  const Made made = MadeOf(graph, PlanOf(graph, mesh, {AxisId(0)}, {}));
  int turns = 0;
  double bytes = 0;
  for (const Step& step : made.program.steps) {
    const auto* sent = std::get_if<Collective>(&step.action);
    if (sent == nullptr || sent->turn == 0) continue;
    ++turns;
    bytes += SentBytes(made.program, *sent);
  }
  EXPECT_EQ(turns, 2 * 3 + 2 * 3 + 2 * 4);
  EXPECT_EQ(bytes, 20.0 * 4 * 2 * 2 * 4 * 12 / 4);
}

// In each round one call gives the result and the logarithms, and one all gradients.
TEST(RingsTest, EachRoundIsOneCall) {
  const Graph graph = Ringed(TrainingGraph({}, {{attribute::kCausal, true}}));
  const Mesh mesh = *Mesh::Create({{.name = "m0", .size = 4}});
  const Attention attention = FindAttention(MadeOf(graph, PlanOf(graph, mesh, {AxisId(0)}, {})).program);
  ASSERT_EQ(attention.forward.size(), 4);
  ASSERT_EQ(attention.backward.size(), 4);
  for (const AttentionForward& round : attention.forward) EXPECT_EQ(round.steps.size(), 2);
  for (const AttentionBackward& round : attention.backward) EXPECT_EQ(round.steps.size(), 3);
}

TEST(RingsTest, MistakesAreCaught) {
  const Graph graph = Ringed(TrainingGraph({}, {{attribute::kCausal, true}}));
  const Mesh mesh = *Mesh::Create({{.name = "m0", .size = 4}});
  const Made made = MadeOf(graph, PlanOf(graph, mesh, {AxisId(0)}, {}));
  int mutants = 0;
  const auto check = [&](Program mutant, const std::string& what) {
    ++mutants;
    EXPECT_NE(ProofOf(graph, made.distributed, mutant), "") << what;
  };
  for (size_t i = 0; i < made.program.steps.size(); ++i) {
    const Step& step = made.program.steps[i];
    if (const auto* sent = std::get_if<Collective>(&step.action); sent != nullptr && sent->turn != 0) {
      for (const int turn : {1, 2}) {
        Program mutant = made.program;
        std::get<Collective>(mutant.steps[i].action).turn = turn;
        check(std::move(mutant), absl::StrCat(step.name, " by ", turn));
      }
    }
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr || !compute->attributes.Has(attribute::kTurn)) continue;
    Program mutant = made.program;
    auto& own = std::get<Compute>(mutant.steps[i].action);
    own.attributes.Set(attribute::kTurn, (own.attributes.Get(attribute::kTurn) + 1) % 4);
    check(std::move(mutant), absl::StrCat(step.name, " sees other keys"));
  }
  EXPECT_EQ(mutants, 2 * 20 + 4 * 5);
}

TEST(RingsTest, SayWhatCannotGoRound) {
  const auto why = [](const Shape4& shape, Attributes attributes) {
    const Graph graph = TrainingGraph(shape, std::move(attributes));
    return WhyNoRing(graph, graph.op(*graph.Find("y"))).value_or("");
  };
  EXPECT_EQ(why({}, {}), "");
  EXPECT_EQ(why({.columns = 6}, {}), "a ring of 12 queries and 6 keys");
  EXPECT_EQ(why({}, {{attribute::kRate, 0.1}, {attribute::kKey, "k"}}), "its weights are dropped by their place");
  EXPECT_EQ(why({}, {{attribute::kCausal, true}, {attribute::kZigzag, 2}}), "its rows lie in zigzag order");
}

// Pieces of different sizes cannot be sent round.
TEST(RingsTest, RowsAreCutIntoEqualPieces) {
  const Graph graph = Ringed(TrainingGraph({}, {}));
  EXPECT_FALSE(VerifyPlan(graph, PlanOf(graph, *Mesh::Create({{.name = "m0", .size = 5}}), {AxisId(0)}, {})).empty());
}

}  // namespace
}  // namespace cleave::ir
