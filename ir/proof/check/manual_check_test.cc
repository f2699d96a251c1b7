// Programs of random manual models are proven, and mistakes that are put into them are found.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/program/text.h"
#include "ir/proof/check/check.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/random_manual_model.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

constexpr uint64_t kSeed = 5;

// Rank axes, and meshes that divide them further.
struct Ranks {
  std::vector<RankAxis> axes;
  std::vector<MeshAxis> mesh;
};

std::vector<Ranks> RankCases() {
  const auto axis = [](const std::string& name, int64_t size) {
    return MeshAxis{.name = name, .size = size, .link = "memory", .weight = 1};
  };
  return {{{{"world", 1}}, {}},
          {{{"world", 2}}, {axis("m0", 2)}},
          {{{"world", 4}}, {axis("m0", 2), axis("m1", 2)}},
          {{{"dp", 3}, {"tp", 2}}, {axis("dp", 3), axis("tp", 2)}},
          {{{"dp", 2}, {"tp", 4}}, {axis("dp", 2), axis("tp.0", 2), axis("tp.1", 2)}}};
}

Plan PlanOf(const Graph& graph, const std::vector<MeshAxis>& mesh) {
  Plan plan{.mesh = *Mesh::Create(mesh), .ops = {}, .search = {}};
  for (const Op& op : graph.ops) {
    plan.ops.push_back(
        {.strategy = Strategy::Replicated(RuleOf(graph, op)), .output = std::nullopt, .reason = "", .choices = {}});
  }
  return plan;
}

TestOptimizer Momentum() { return {.kind = TestOptimizer::Kind::kMomentum, .rate = 0.1}; }

struct Model {
  Graph graph;
  Program program;
};

Model RandomModel(const Ranks& ranks, const std::string& primitive, uint64_t seed, int steps,
                  Precision precision = Precision::kF32) {
  Random random(seed);
  Graph forward = RandomManualModel({.axes = ranks.axes, .steps = steps, .primitive = primitive}, random);
  forward.model = "Random";
  forward.file = "random.model";
  Graph graph = ApplyPrecision(*Differentiate(std::move(forward), Momentum()), precision).graph;
  Program program = *Partition(graph, PlanOf(graph, ranks.mesh));
  return {std::move(graph), std::move(program)};
}

TEST(ManualCheckTest, RandomProgramsAreProven) {
  int64_t values = 0;
  int parameters = 0;
  for (const Ranks& ranks : RankCases()) {
    for (const std::string& primitive : CommunicationPrimitives()) {
      for (uint64_t round = 0; round < 4; ++round) {
        const Model model = RandomModel(ranks, primitive, kSeed + round, 1 + static_cast<int>(round) * 3);
        SCOPED_TRACE(absl::StrCat(primitive, ", seed ", kSeed + round, "\n", ProgramText(model.program, 0)));
        ASSERT_EQ(CheckStatically(model.program), std::vector<std::string>());
        const absl::StatusOr<ManualReport> report = CheckManual(model.graph, model.program);
        ASSERT_TRUE(report.ok()) << report.status();
        EXPECT_TRUE(report->is_simulated);
        EXPECT_EQ(report->ranks, model.program.mesh.rank_count());
        values += report->values;
        parameters += report->parameters;
      }
    }
  }
  EXPECT_GT(values, 1000);
  EXPECT_GT(parameters, 100);
}

TEST(ManualCheckTest, ProgramsInBf16AreProven) {
  int casts = 0;
  for (const Ranks& ranks : RankCases()) {
    for (const std::string& primitive : CommunicationPrimitives()) {
      const Model model = RandomModel(ranks, primitive, kSeed, 5, Precision::kBf16);
      SCOPED_TRACE(absl::StrCat(primitive, "\n", ProgramText(model.program, 0)));
      ASSERT_EQ(CheckStatically(model.program), std::vector<std::string>());
      const absl::StatusOr<ManualReport> report = CheckManual(model.graph, model.program);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_TRUE(report->is_simulated);
      for (const Op& op : model.graph.ops) casts += op.type.dtype == DType::kBf16 && op.kind == OpKind::kCast;
    }
  }
  EXPECT_GT(casts, 10);
}

TEST(ManualCheckTest, TheirTextReadsBack) {
  for (const Ranks& ranks : RankCases()) {
    for (const std::string& primitive : CommunicationPrimitives()) {
      const Program program = RandomModel(ranks, primitive, kSeed, 4).program;
      const std::string text = ProgramText(program, program.mesh.rank_count() - 1);
      const absl::StatusOr<Program> parsed = ParseProgram(text);
      ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
      EXPECT_EQ(*parsed, program) << text;
    }
  }
}

// ---- Mistakes ----

// Breaks a program at its step `at`; false where that is not possible there.
using Mutation = std::function<bool(Program& program, size_t at)>;

Collective* CollectiveAt(Program& program, size_t at) { return std::get_if<Collective>(&program.steps[at].action); }

Mutation OfMessages(const std::function<bool(Messages& messages)>& mutate) {
  return [mutate](Program& program, size_t at) {
    Collective* collective = CollectiveAt(program, at);
    return collective != nullptr && collective->messages.has_value() && mutate(*collective->messages);
  };
}

// The first two entries that differ change places.
bool Exchange(std::vector<int64_t>& numbers) {
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] == numbers[0]) continue;
    std::swap(numbers[i], numbers[0]);
    return true;
  }
  return false;
}

struct NamedMutation {
  std::string name;
  std::string primitive;
  Mutation mutate;
};

std::vector<NamedMutation> Mutations() {
  const auto other_reduction = [](Program& program, size_t at) {
    Collective* collective = CollectiveAt(program, at);
    if (collective == nullptr || collective->kind != CollectiveKind::kAllReduce) return false;
    collective->reduction = collective->reduction == Reduction::kMax ? Reduction::kMin : Reduction::kMax;
    for (const Transfer& transfer : collective->transfers) {
      for (PartialAxis& axis : program.values[transfer.input].layout.partial) axis.reduction = collective->reduction;
    }
    return true;
  };
  // All ranks keep what they have.
  const auto lost = [](Program& program, size_t at) {
    const Collective* collective = CollectiveAt(program, at);
    if (collective == nullptr || collective->kind != CollectiveKind::kAllReduce || collective->transfers.size() != 1) {
      return false;
    }
    const Transfer transfer = collective->transfers[0];
    program.steps[at].action = View{transfer.input, transfer.output};
    return true;
  };
  const auto a_rank_less = [](Program& program, size_t at) {
    Collective* collective = CollectiveAt(program, at);
    if (collective == nullptr || collective->messages.has_value() || collective->axes.size() < 2) return false;
    collective->axes.pop_back();
    return true;
  };
  const auto other_root = [](Program& program, size_t at) {
    Collective* collective = CollectiveAt(program, at);
    if (collective == nullptr || collective->kind != CollectiveKind::kBroadcast) return false;
    collective->root = (collective->root + 1) % static_cast<int>(program.mesh.Size(collective->axes));
    return true;
  };
  const auto no_such_root = [](Program& program, size_t at) {
    Collective* collective = CollectiveAt(program, at);
    if (collective == nullptr || collective->kind != CollectiveKind::kBroadcast) return false;
    collective->root = static_cast<int>(program.mesh.Size(collective->axes));
    return true;
  };
  const auto members_reversed = [](Program& program, size_t at) {
    Collective* collective = CollectiveAt(program, at);
    if (collective == nullptr || collective->kind != CollectiveKind::kAllGather || collective->axes.size() < 2)
      return false;
    std::swap(collective->axes.front(), collective->axes.back());
    AxisList& axes = program.values[collective->transfers[0].input]
                         .layout.dimensions[static_cast<size_t>(collective->transfers[0].from_dimension)];
    std::swap(axes.front(), axes.back());
    return true;
  };
  return {
      {"another reduction", "sum", other_reduction},
      {"a sum that is not taken", "sum", lost},
      {"a group of fewer ranks", "sum", a_rank_less},
      {"the gather of fewer ranks", "all_gather", a_rank_less},
      {"members in another order", "all_gather", members_reversed},
      {"another root", "broadcast", other_root},
      {"a root that does not exist", "broadcast", no_such_root},
      {"sent to another rank", "send_recv", OfMessages([](Messages& m) { return Exchange(m.send_ranks); })},
      {"received from another rank", "neighbor_exchange",
       OfMessages([](Messages& m) { return Exchange(m.receive_ranks); })},
      {"parts sent in another order", "neighbor_exchange_v2",
       OfMessages([](Messages& m) { return Exchange(m.send_sizes); })},
      {"a part one element shorter", "send_recv", OfMessages([](Messages& m) { return --m.send_sizes[0] >= 0; })},
      {"a part that nobody waits for", "neighbor_exchange",
       OfMessages([](Messages& m) { return std::exchange(m.receive_ranks[0], -1) != -1; })},
      {"a part that nobody sends", "neighbor_exchange",
       OfMessages([](Messages& m) { return std::exchange(m.send_ranks[0], -1) != -1; })},
      {"a rank that does not exist", "send_recv",
       OfMessages([](Messages& m) { return std::exchange(m.send_ranks[0], 1000) != 1000; })},
  };
}

// Some mutants compute the same: members of an all_gather in another order where all have the same value, zeros sent
// elsewhere. Whether some value differs from the model's on sources that the check does not draw.
bool ComputesSomethingElse(const Model& model, const Program& mutant) {
  constexpr int64_t kStep = 2;
  for (uint64_t draw = 100; draw < 103; ++draw) {
    Random random(draw);
    const RankSources sources = RandomRankSources(model.graph, random);
    const auto expected = InterpretProgram(model.program, sources, kStep);
    const auto actual = InterpretProgram(mutant, sources, kStep);
    EXPECT_TRUE(expected.ok()) << expected.status();
    if (!actual.ok() || *actual != *expected) return true;
  }
  return false;
}

bool IsCaught(const Graph& graph, const Program& program) {
  return !CheckStatically(program).empty() || !CheckManual(graph, program).ok();
}

TEST(ManualCheckTest, MistakesAreFound) {
  for (const NamedMutation& mutation : Mutations()) {
    int made = 0;
    int missed = 0;
    std::string example;
    for (const Ranks& ranks : RankCases()) {
      for (uint64_t round = 0; round < 6; ++round) {
        const Model model = RandomModel(ranks, mutation.primitive, kSeed + round, 3);
        for (size_t at = 0; at < model.program.steps.size(); ++at) {
          Program mutant = model.program;
          if (!mutation.mutate(mutant, at)) continue;
          ++made;
          if (IsCaught(model.graph, mutant) || !ComputesSomethingElse(model, mutant)) continue;
          ++missed;
          example = absl::StrCat(model.program.steps[at].name, "\n", ProgramText(mutant, 0));
        }
      }
    }
    EXPECT_GT(made, 3) << mutation.name;
    EXPECT_EQ(missed, 0) << mutation.name << ", of " << made << ": " << example;
  }
}

// A gradient of the graph itself that takes the largest of the ranks' contributions instead of their sum: every rank
// computes as the graph says, and only the loss shows that the gradient is wrong.
TEST(ManualCheckTest, AGradientThatIsNotSummedIsFound) {
  const Ranks ranks = {{{"world", 4}}, {{.name = "m0", .size = 4, .link = "memory", .weight = 1}}};
  const auto model = [&](bool summed) {
    GraphBuilder builder;
    builder.mutable_graph().rank_axes = ranks.axes;
    const OpId x = builder.Add(OpKind::kInput, {}, {{attribute::kShape, Shape{8, 3}}, {attribute::kData, "x"}}, "x");
    const OpId weight = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{3, 2}}}, "weight");
    const OpId own = builder.Add(
        OpKind::kRankSlice, {x},
        {{attribute::kAxis, 0}, {attribute::kSize, 2}, {attribute::kStarts, std::vector<int64_t>{0, 2, 4, 6}}}, "own");
    const OpId y = builder.Add(OpKind::kTanh, {builder.Add(OpKind::kMatmul, {own, weight}, {}, "product")}, {}, "y");
    const OpId mean = builder.Add(OpKind::kReduceMean, {y}, {}, "mean");
    builder.mutable_graph().loss =
        builder.Add(OpKind::kAllReduce, {mean},
                    {{attribute::kGroup, "world"}, {attribute::kSize, 4}, {attribute::kReduction, "sum"}}, "loss");
    Graph graph = *Differentiate(std::move(builder).Build(), Momentum());
    for (Op& op : graph.ops) {
      const bool is_gradient = op.gradient_of.has_value() && graph.op(*op.gradient_of).kind == OpKind::kParameter;
      if (!is_gradient || summed) continue;
      EXPECT_EQ(op.kind, OpKind::kAllReduce);
      op.attributes.Set(attribute::kReduction, std::string("max"));
    }
    Program program = *Partition(graph, PlanOf(graph, ranks.mesh));
    return Model{std::move(graph), std::move(program)};
  };
  const Model right = model(true);
  EXPECT_TRUE(CheckManual(right.graph, right.program).ok());
  const Model wrong = model(false);
  const absl::Status found = CheckManual(wrong.graph, wrong.program).status();
  EXPECT_NE(found.message().find("the gradients say"), std::string::npos) << found;
}

}  // namespace
}  // namespace cleave::ir
