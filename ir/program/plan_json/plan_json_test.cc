#include "ir/program/plan_json/plan_json.h"

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "ir/program/partition/partition.h"
#include "ir/testing/graphs.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

struct Example {
  Graph graph = TestMlp();
  Plan plan;
  std::string json;
};

Example MakeExample(const Mesh& mesh) {
  Example example;
  example.graph.hash = "xxh3:0123456789abcdef";
  std::mt19937_64 random(3);
  example.plan = RandomPlan(example.graph, mesh, random);
  example.plan.search = {
      .algorithm = "sapp", .objective = "speed", .price = "bytes", .zero = 3, .cost = 123.25, .lower_bound = 100.0};
  example.plan.ops[OpId(2)].reason = "a reason with \"quotes\"";
  example.plan.ops[OpId(2)].choices = {{.strategy = example.plan.ops[OpId(2)].strategy, .cost = 1.5, .chosen = true}};
  Choice second{.strategy = example.plan.ops[OpId(2)].strategy, .cost = 24.5};
  second.parts = CostParts{
      .inside = 1, .inputs = 2, .output = 4, .backward = 8, .gradients = 16.5, .elsewhere = -7, .collectives = 3};
  example.plan.ops[OpId(2)].choices.push_back(second);
  example.plan.ops[OpId(1)].retention = Retention::kRedistribute;
  example.plan.ops[*example.graph.Find("h1")].retention = Retention::kRecompute;
  example.plan.ops[*example.graph.Find("h1.relu")].retention = Retention::kOffload;
  example.plan.ops[*example.graph.Find("h1")].chunks = 2;
  example.plan.moves_steps = mesh.rank_count() > 1;
  example.plan.zigzag = mesh.rank_count() > 1 ? mesh.rank_count() : 0;
  const absl::StatusOr<Distributed> distributed = Distribute(example.graph, example.plan);
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  const absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
  EXPECT_TRUE(program.ok()) << program.status();
  example.json = PlanJson(example.graph, example.plan, *program, {});
  return example;
}

TEST(PlanJsonTest, ReadsBackWhatItWrote) {
  for (const int64_t devices : {1, 2, 6, 8}) {
    const Example example = MakeExample(Mesh::OfDevices(devices));
    const absl::StatusOr<Plan> plan = ParsePlanJson(example.json, example.graph);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(*plan, example.plan);
    EXPECT_EQ(*ZigzagOfPlanJson(example.json), example.plan.zigzag);
  }
}

TEST(PlanJsonTest, SaysWhatIsWrongAndWhere) {
  const Example example = MakeExample(Mesh::OfDevices(4));
  struct Damage {
    std::string from, to, message;
  };
  const std::vector<Damage> cases = {
      {"{\n", "{{\n", "not valid JSON"},
      {"\"cleave-plan\"", "\"other\"", "plan.format: expected \"cleave-plan\", found \"other\""},
      {"\"version\": 1", "\"version\": 2", "plan.version: this version reads 1, found 2"},
      {"\"version\": 1", "\"version\": 1, \"version\": 1", "the key \"version\" occurs twice in one object"},
      {"\"version\": 1", "\"version\": 1, \"colour\": 3", "plan: unknown field \"colour\""},
      {"xxh3:0123456789abcdef", "xxh3:fedcba9876543210",
       "model.hash: the plan is for mlp with hash xxh3:fedcba9876543210, this model is mlp with hash "
       "xxh3:0123456789abcdef"},
      {"\"name\": \"h1\"", "\"name\": \"h9\"", "ops: the model has no op `h9`"},
      {"\"devices\": 4", "\"devices\": 8", "cluster.devices: 8 devices, but the mesh has 4 ranks"},
      {"\"size\": 2", "\"size\": 1", "mesh: axis \"m0\" has size 1"},
      {"\"decided_by\": \"fallback\"", "\"decided_by\": \"magic\"", "unknown value \"magic\""},
      {"\"algorithm\": \"sapp\"", "\"algorithm\": 7", "search.algorithm: expected a string"},
      {"\"zero\": 3", "\"zero\": 4", "search.zero: 0 to 3 expected, found 4"},
      {"\"elsewhere\": -7.0", "\"elsewhere\": \"x\"", "choices.parts.elsewhere: expected a number"},
      {"\"elsewhere\": -7.0", "\"besides\": -7.0", "choices.parts: the field \"elsewhere\" is missing"},
      {"\"zigzag\": 4", "\"zigzag\": 0", "plan.zigzag: 1 to 65536 expected, found 0"},
      {"\"moves_steps\": true", "\"moves_steps\": 1", "plan.moves_steps: expected true or false"},
      {"\"gather_again\": true", "\"gather_again\": 1", "gather_again: expected true or false"},
      {"\"recompute\": true", "\"recompute\": 1", "recompute: expected true or false"},
      {"\"recompute\": false", "\"recompute\": true", "is always kept"},
      {"\"recompute\": false", "\"offload\": true", "is always kept"},
      {"\"recompute\": false", "\"offload\": 1", "offload: expected true or false"},
  };
  for (const Damage& damage : cases) {
    std::string text = example.json;
    const size_t at = text.find(damage.from);
    ASSERT_NE(at, std::string::npos) << damage.from;
    text.replace(at, damage.from.size(), damage.to);
    const absl::StatusOr<Plan> plan = ParsePlanJson(text, example.graph);
    ASSERT_FALSE(plan.ok()) << damage.to;
    EXPECT_NE(std::string(plan.status().message()).find(damage.message), std::string::npos) << plan.status();
  }
}

TEST(PlanJsonTest, AStepMayTakeLessThanItsParts) {
  const Graph graph = TestMlp();
  const Plan plan = DataParallelPlan(graph, Mesh::OfDevices(2));
  const absl::StatusOr<Program> program = Partition(graph, plan);
  ASSERT_TRUE(program.ok()) << program.status();
  const std::string json = PlanJson(graph, plan, *program,
                                    {.predicted_step = Seconds(0.75),
                                     .predicted_compute = Seconds(0.5),
                                     .predicted_communication = Seconds(0.375),
                                     .memory = {}});
  for (const char* field : {"\"step_seconds\": 0.75", "\"compute_seconds\": 0.5", "\"communication_seconds\": 0.375"}) {
    EXPECT_NE(json.find(field), std::string::npos) << field;
  }
}

TEST(PlanJsonTest, MemoryThatMostProgramsDoNotNeedIsOnlyNamedWhereItIs) {
  const Graph graph = TestMlp();
  const Plan plan = DataParallelPlan(graph, Mesh::OfDevices(2));
  const absl::StatusOr<Program> program = Partition(graph, plan);
  ASSERT_TRUE(program.ok()) << program.status();
  PlanFacts facts{.memory = {}};
  const std::string without = PlanJson(graph, plan, *program, facts);
  EXPECT_EQ(without.find("\"checkpoint\""), std::string::npos);
  EXPECT_EQ(without.find("\"host\": 0"), std::string::npos);
  facts.memory.checkpoint = Bytes(4096);
  facts.memory.host = Bytes(8192);
  const std::string with = PlanJson(graph, plan, *program, facts);
  EXPECT_NE(with.find("\"checkpoint\": 4096"), std::string::npos);
  EXPECT_NE(with.find("\"host\": 8192"), std::string::npos);
}

TEST(PlanJsonTest, RandomDamageIsRefusedOrHarmless) {
  const Example example = MakeExample(Mesh::OfDevices(6));
  std::mt19937_64 random(11);
  for (int i = 0; i < 300; ++i) {
    std::string text = example.json;
    text[random() % text.size()] = static_cast<char>(random() % 128);
    const absl::StatusOr<Plan> plan = ParsePlanJson(text, example.graph);
    if (plan.ok()) {
      EXPECT_TRUE(VerifyPlan(example.graph, *plan).empty());
    }
  }
}

}  // namespace
}  // namespace cleave::ir
