#include "ir/check/check.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ir/distribute/distribute.h"
#include "ir/ops/ops.h"
#include "ir/partition/partition.h"
#include "ir/plan/plan.h"
#include "ir/program/program.h"
#include "ir/strategy/strategy.h"
#include "ir/testing/graphs.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"

namespace cleave {
namespace {

// What both halves of the proof say; empty when the program is sound.
std::string Verdict(const Graph& graph, const Program& program) {
  const std::vector<std::string> findings = CheckStatically(program);
  if (!findings.empty()) return absl::StrJoin(findings, "\n");
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, program);
  return report.ok() ? "" : std::string(report.status().message());
}

Program PartitionOrDie(const Graph& graph, const Plan& plan) {
  absl::StatusOr<Program> program = Partition(graph, plan);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

Distributed DistributeOrDie(const Graph& graph, const Plan& plan) {
  absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  return *std::move(distributed);
}

uint64_t Seed() {
  const char* given = std::getenv("CLEAVE_TEST_SEED");
  return given == nullptr ? std::random_device()() : std::strtoull(given, nullptr, 10);
}

TEST(CheckTest, AcceptsRandomPlansOnManyMeshes) {
  const uint64_t seed = Seed();
  std::cout << "CLEAVE_TEST_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  const std::vector<Graph> graphs = {TestMlp(), TestTiedWeights(), TestAttention()};
  for (const Graph& graph : graphs) {
    for (const int64_t devices : {1, 2, 3, 4, 5, 6, 7, 8, 12}) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        const Distributed distributed = DistributeOrDie(graph, RandomPlan(graph, Mesh::OfDevices(devices), random));
        const Program program = PartitionOrDie(distributed.graph, distributed.plan);
        ASSERT_EQ(Verdict(distributed.graph, program), "") << graph.model << " on " << devices << " devices";
        const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, distributed, program);
        ASSERT_TRUE(report.ok()) << report.status() << " of " << graph.model << " on " << devices << " devices";
      }
    }
  }
}

// Every op that looks at rows as a whole is cut along them over the whole mesh, as are its gradients.
Plan CutRowsPlan(const Graph& graph, const Mesh& mesh) {
  Plan plan = DataParallelPlan(graph, mesh);
  for (const Op& op : graph.ops) {
    const Rule rule = RuleOf(graph, op);
    const auto inner = std::find_if(rule.factors.begin(), rule.factors.end(),
                                    [](const Factor& factor) { return factor.kind == FactorKind::kInner; });
    if (inner == rule.factors.end()) continue;
    Strategy strategy = Strategy::Replicated(rule);
    strategy.cuts[static_cast<size_t>(inner - rule.factors.begin())] = mesh.AxisIds();
    plan.ops[op.id].strategy = std::move(strategy);
  }
  return plan;
}

TEST(CheckTest, AcceptsCutRows) {
  for (const Graph& graph : {TestMlp(), TestTiedWeights(), TestAttention()}) {
    for (const int64_t devices : {2, 3, 4, 5}) {
      const Distributed distributed = DistributeOrDie(graph, CutRowsPlan(graph, Mesh::OfDevices(devices)));
      EXPECT_GT(distributed.graph.ops.size(), graph.ops.size());
      const Program program = PartitionOrDie(distributed.graph, distributed.plan);
      EXPECT_EQ(Verdict(distributed.graph, program), "") << graph.model << " on " << devices << " devices";
      const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, distributed, program);
      EXPECT_TRUE(report.ok()) << report.status() << " of " << graph.model << " on " << devices << " devices";
    }
  }
}

// The program keeps to the distributed graph, but that is not what the model means.
TEST(CheckTest, CatchesAWrongDistributedForm) {
  const Graph graph = TestAttention();
  Distributed distributed = DistributeOrDie(graph, CutRowsPlan(graph, Mesh::OfDevices(2)));
  int spoiled = 0;
  for (Op& op : distributed.graph.ops) {
    if (op.kind != "constant" || op.name.find(".epsilon") == std::string::npos) continue;
    op.attributes.values["value"] = 0.5;
    ++spoiled;
  }
  ASSERT_GT(spoiled, 0);
  const Program program = PartitionOrDie(distributed.graph, distributed.plan);
  EXPECT_EQ(Verdict(distributed.graph, program), "");
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, distributed, program);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().message().find("distributed form of"), std::string::npos) << report.status();
}

TEST(CheckTest, ShortensMeshesOfManyRanks) {
  const Graph graph = TestMlp();
  const Plan plan = DataParallelPlan(graph, Mesh::OfDevices(1024));
  const Program program = PartitionOrDie(graph, plan);
  EXPECT_EQ(Verdict(graph, program), "");
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, program);
  ASSERT_TRUE(report.ok());
  EXPECT_LE(report->ranks, 16);
  EXPECT_EQ(report->axes_left_out, std::vector<std::string>{});
}

// A check that expanded each group once per member would take hours here.
TEST(CheckTest, ChecksTensOfThousandsOfRanks) {
  const Graph graph = TestMlp();
  EXPECT_TRUE(CheckStatically(PartitionOrDie(graph, DataParallelPlan(graph, Mesh::OfDevices(65536)))).empty());
}

TEST(CheckTest, ShortensMeshesOfRandomPlans) {
  const uint64_t seed = Seed();
  std::cout << "CLEAVE_TEST_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  const Graph graph = TestMlp();
  for (const int64_t devices : {32, 60, 64}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Distributed distributed = DistributeOrDie(graph, RandomPlan(graph, Mesh::OfDevices(devices), random));
      const absl::StatusOr<SimulationReport> report =
          CheckBySimulation(graph, distributed, PartitionOrDie(distributed.graph, distributed.plan));
      ASSERT_TRUE(report.ok()) << report.status() << " on " << devices << " devices";
      EXPECT_LE(report->ranks, 16);
    }
  }
}

// Ways to break a program. Each returns whether it found something to break at step `at`.
using Mutation = std::function<bool(Program&, size_t at)>;

Collective* CollectiveAt(Program& program, size_t at) { return std::get_if<Collective>(&program.steps[at].action); }
Compute* ComputeAt(Program& program, size_t at) { return std::get_if<Compute>(&program.steps[at].action); }

// Lets every later reader of `from` read `to` instead.
void ReplaceReads(Program& program, ValueId from, ValueId to) {
  for (Step& step : program.steps) {
    if (auto* compute = std::get_if<Compute>(&step.action)) {
      for (ValueId& input : compute->inputs) input = input == from ? to : input;
    } else if (auto* collective = std::get_if<Collective>(&step.action)) {
      for (Transfer& transfer : collective->transfers) transfer.input = transfer.input == from ? to : transfer.input;
    } else if (auto* slice = std::get_if<Slice>(&step.action)) {
      slice->input = slice->input == from ? to : slice->input;
    }
  }
  for (ProgramUpdate& update : program.updates) update.value = update.value == from ? to : update.value;
}

bool DropCollective(Program& program, size_t at) {
  const Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  const Collective dropped = *collective;
  program.steps.erase(program.steps.begin() + static_cast<ptrdiff_t>(at));
  for (const Transfer& transfer : dropped.transfers) {
    // The strongest form of the mistake: the layout lies as well.
    program.values[transfer.input].layout = program.values[transfer.output].layout;
    ReplaceReads(program, transfer.output, transfer.input);
  }
  return true;
}

bool DropStep(Program& program, size_t at) {
  program.steps.erase(program.steps.begin() + static_cast<ptrdiff_t>(at));
  return true;
}

bool DuplicateStep(Program& program, size_t at) {
  program.steps.insert(program.steps.begin() + static_cast<ptrdiff_t>(at), program.steps[at]);
  return true;
}

bool SwapWithNext(Program& program, size_t at) {
  if (at + 1 >= program.steps.size()) return false;
  const std::vector<ValueId> written = Writes(program.steps[at]);
  for (ValueId read : Reads(program.steps[at + 1])) {
    if (std::find(written.begin(), written.end(), read) == written.end()) continue;
    std::swap(program.steps[at], program.steps[at + 1]);
    return true;
  }
  return false;  // Independent steps may change places.
}

bool WrongAxis(Program& program, size_t at) {
  Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || program.mesh.axis_count() < 2) return false;
  for (AxisId axis : program.mesh.AxisIds()) {
    if (axis == collective->axes.front()) continue;
    collective->axes = {axis};
    return true;
  }
  return false;
}

bool FewerAxes(Program& program, size_t at) {
  Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->axes.size() < 2) return false;
  collective->axes.pop_back();
  return true;
}

bool OtherReduction(Program& program, size_t at) {
  Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  if (collective->kind != CollectiveKind::kAllReduce && collective->kind != CollectiveKind::kReduceScatter)
    return false;
  collective->reduction = collective->reduction == Reduction::kMax ? Reduction::kSum : Reduction::kMax;
  return true;
}

bool OtherDimension(Program& program, size_t at) {
  Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  Transfer& transfer = collective->transfers.front();
  if (program.value(transfer.input).type.rank() < 2) return false;
  int& dimension = transfer.to_dimension >= 0 ? transfer.to_dimension : transfer.from_dimension;
  if (dimension < 0) return false;
  dimension = (dimension + 1) % program.value(transfer.input).type.rank();
  return true;
}

bool OtherInput(Program& program, size_t at) {
  Compute* compute = ComputeAt(program, at);
  if (compute == nullptr || compute->inputs.size() < 2 || compute->inputs[0] == compute->inputs[1]) return false;
  if (program.value(compute->inputs[0]).type != program.value(compute->inputs[1]).type) return false;
  const std::set<std::string> symmetric = {"add", "mul", "share_of_equal"};
  if (symmetric.count(compute->kind) > 0) return false;
  std::swap(compute->inputs[0], compute->inputs[1]);
  return true;
}

bool LoseATransfer(Program& program, size_t at) {
  Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->transfers.size() < 2) return false;
  collective->transfers.pop_back();
  return true;
}

bool SliceElsewhere(Program& program, size_t at) {
  auto* slice = std::get_if<Slice>(&program.steps[at].action);
  if (slice == nullptr) return false;
  // The piece of another axis: right shape, wrong elements.
  for (std::vector<AxisId>& axes : program.values[slice->output].layout.dimensions) {
    for (AxisId& axis : axes) {
      for (AxisId other : program.mesh.AxisIds()) {
        if (other == axis || program.mesh.axis(other).size != program.mesh.axis(axis).size) continue;
        axis = other;
        return true;
      }
    }
  }
  return false;
}

bool LoseAnUpdate(Program& program, size_t at) {
  if (at != 0 || program.updates.empty()) return false;
  program.updates.pop_back();
  return true;
}

bool ReadTheLocalGradient(Program& program, size_t at) {
  // The gradient's all-reduce runs, but the update reads what went into it.
  Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->kind != CollectiveKind::kAllReduce) return false;
  for (const Transfer& transfer : std::vector<Transfer>(collective->transfers)) {
    program.values[transfer.input].layout.partial.clear();
    for (size_t step = at + 1; step < program.steps.size(); ++step) {
      auto* compute = std::get_if<Compute>(&program.steps[step].action);
      if (compute == nullptr) continue;
      for (ValueId& input : compute->inputs) input = input == transfer.output ? transfer.input : input;
    }
  }
  return true;
}

TEST(CheckTest, CatchesEveryMutant) {
  const std::vector<std::pair<std::string, Mutation>> mutations = {
      {"drop a collective", DropCollective},
      {"drop a step", DropStep},
      {"duplicate a step", DuplicateStep},
      {"swap dependent steps", SwapWithNext},
      {"wrong axis", WrongAxis},
      {"an axis too few", FewerAxes},
      {"another reduction", OtherReduction},
      {"another dimension", OtherDimension},
      {"another input", OtherInput},
      {"a transfer lost", LoseATransfer},
      {"slice elsewhere", SliceElsewhere},
      {"an update lost", LoseAnUpdate},
      {"gradient not reduced", ReadTheLocalGradient},
  };
  const Graph graph = TestMlp();
  std::mt19937_64 random(7);
  std::vector<Plan> plans = {DataParallelPlan(graph, Mesh::OfDevices(4)), DataParallelPlan(graph, Mesh::OfDevices(6))};
  for (int i = 0; i < 4; ++i) plans.push_back(RandomPlan(graph, Mesh::OfDevices(8), random));
  std::vector<int> tried(mutations.size(), 0);
  for (const Plan& plan : plans) {
    const Distributed distributed = DistributeOrDie(graph, plan);
    const Program sound = PartitionOrDie(distributed.graph, distributed.plan);
    ASSERT_EQ(Verdict(distributed.graph, sound), "");
    for (size_t mutation = 0; mutation < mutations.size(); ++mutation) {
      for (size_t at = 0; at < sound.steps.size(); ++at) {
        Program broken = sound;
        if (!mutations[mutation].second(broken, at) || broken == sound) continue;
        ++tried[mutation];
        EXPECT_NE(Verdict(distributed.graph, broken), "")
            << mutations[mutation].first << " at step " << at << " (" << sound.steps[at].name << ") was not caught";
      }
    }
  }
  for (size_t mutation = 0; mutation < mutations.size(); ++mutation) {
    EXPECT_GT(tried[mutation], 0) << "no step to try: " << mutations[mutation].first;
  }
}

}  // namespace
}  // namespace cleave
