#include "search/search.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "search/price/cost/cost.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/bundles.h"
#include "search/solve/sapp/sapp.h"
#include "search/testing.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::LettersOf;
using testing::MatmulChain;
using testing::Mlp;
using testing::SeedNetwork;

const std::vector<int64_t> kSixOf32(7, 32);
const std::vector<int64_t> kSixOf256(7, 256);

// The cost that sapp finds on a mesh that no cluster gives, such as one axis of 4.
double SappCost(const ir::Graph& graph, std::vector<ir::MeshAxis> axes, double gradient_weight) {
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, *ir::Mesh::Create(std::move(axes)), {.gradient_weight = gradient_weight, .dataset = {}},
                        {});
  Sapp(assignment);
  return assignment.cost().price;
}

TEST(SappTest, FindsTheOptimumOfTheSeedNetwork) {
  const ir::Graph graph = SeedNetwork();
  const auto cost = [&](double g) {
    return FoundPlan(graph, CpuCluster(8), {.gradient_weight = g, .dataset = {}}).search.cost;
  };
  EXPECT_NEAR(cost(0.1), 298547.2, 1);
  EXPECT_NEAR(cost(0.25), 393856, 1);
  EXPECT_NEAR(cost(1), 525568, 1);
}

TEST(SappTest, FindsTheOptimaOfEqualLayers) {
  const std::vector<ir::MeshAxis> four = {{.name = "m0", .size = 4}};
  EXPECT_NEAR(SappCost(Mlp(256, kSixOf32), four, 1), 36864, 1);
  EXPECT_NEAR(SappCost(Mlp(256, kSixOf32), four, 0.1), 3686.4, 1);
  EXPECT_NEAR(SappCost(Mlp(32, kSixOf256), four, 1), 245760, 1);
  const std::vector<ir::MeshAxis> hierarchy = {{.name = "m0", .size = 2, .link = "network", .weight = 1},
                                               {.name = "m1", .size = 2, .link = "host", .weight = 0.1}};
  EXPECT_NEAR(SappCost(Mlp(256, kSixOf32), hierarchy, 1), 14745.6, 1);
}

TEST(OptionsFromTest, MicroBatchesAreANumberOrChosen) {
  ir::ParallelSettings settings;
  EXPECT_FALSE(OptionsFrom(settings).choose_micro_batches);
  settings.micro_batches = 4;
  EXPECT_EQ(OptionsFrom(settings).micro_batches, 4);
  EXPECT_FALSE(OptionsFrom(settings).choose_micro_batches);
  settings.micro_batches = std::nullopt;
  EXPECT_EQ(OptionsFrom(settings).micro_batches, 1);
  EXPECT_TRUE(OptionsFrom(settings).choose_micro_batches);
}

TEST(BaselinesTest, DataParallelCostsItsGradients) {
  const ir::Graph graph = SeedNetwork();
  const auto cost = [&](double g) {
    return FoundPlan(graph, CpuCluster(8),
                     {.algorithm = ir::SearchAlgorithm::kDataParallel, .gradient_weight = g, .dataset = {}})
        .search.cost;
  };
  EXPECT_NEAR(cost(0.1), 464844.8, 1);
  EXPECT_NEAR(cost(0.25), 1162112, 1);
  EXPECT_NEAR(cost(1), 4648448, 1);
}

TEST(BaselinesTest, ReplicateSendsNothing) {
  const ir::Plan plan =
      FoundPlan(SeedNetwork(), CpuCluster(8), {.algorithm = ir::SearchAlgorithm::kReplicate, .dataset = {}});
  EXPECT_EQ(plan.search.cost, 0);
}

// The letters that `classic` gives to the matmuls of a chain.
std::vector<std::string> ClassicLetters(const ir::Graph& graph, const ir::Pins& pins = {}) {
  const ir::Plan plan = FoundPlan(graph, CpuCluster(8), {.price = ir::Price::kClassic, .dataset = {}}, pins);
  std::vector<std::string> letters;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kMatmul) letters.push_back(LettersOf(graph, plan.mesh, op.id, plan.ops[op.id].strategy));
  }
  return letters;
}

TEST(ClassicTest, GivesThePublishedStrategies) {
  EXPECT_EQ(ClassicLetters(MatmulChain({256, 784, 512})), (std::vector<std::string>{"iik"}));      // ((4, 2), (2, 1))
  EXPECT_EQ(ClassicLetters(MatmulChain({4096, 4096, 16384})), (std::vector<std::string>{"iij"}));  // ((4, 1), (1, 2))
  EXPECT_EQ(ClassicLetters(MatmulChain({160, 320, 320000})), (std::vector<std::string>{"jjj"}));   // ((1, 1), (1, 8))
  EXPECT_EQ(ClassicLetters(MatmulChain({32768, 1024, 1024, 1024}))[0], "iii");                     // ((8, 1), (1, 1))
  EXPECT_EQ(ClassicLetters(MatmulChain({3000, 1000, 4000, 4000}))[0][0], 'i');
}

ir::Pin ShardOn(ir::OpId op, const std::vector<std::vector<int64_t>>& in) {
  ir::ShardPin pin;
  for (const std::vector<int64_t>& counts : in) {
    pin.in.emplace_back(std::in_place);
    for (int64_t count : counts) pin.in.back()->push_back({.value = count, .span = {}});
  }
  return {.op = op, .demand = pin, .span = {}};
}

// The first product of 784-512-512-1 has the published ((4, 2), (1, 2)) where products do not see their neighbours.
// With them it would cost 16 times its value to be contracted, because the next product divides rows.
TEST(ClassicTest, ALoneOpOfTheSeedNetworkIsCutAsPublished) {
  const ir::Graph graph = SeedNetwork();
  const auto first = [&](double redistribution_weight) {
    const ir::Plan plan =
        FoundPlan(graph, CpuCluster(8),
                  {.price = ir::Price::kClassic, .redistribution_weight = redistribution_weight, .dataset = {}});
    const ir::Op& op = graph.op(*graph.Find("h0"));
    return ir::InStrategyText(ir::InStrategy(plan.ops[op.id].strategy, ir::RuleOf(graph, op), plan.mesh));
  };
  EXPECT_EQ(first(0), "((4, 2), (1, 2))");
  EXPECT_EQ(first(16), "((8, 1), (1, 1))");
}

TEST(ClassicTest, TwinBranchesHaveEqualPlans) {
  const ir::Graph graph = testing::TwinBranches();
  const ir::Plan plan = FoundPlan(graph, CpuCluster(8), {.price = ir::Price::kClassic, .dataset = {}});
  EXPECT_EQ(LettersOf(graph, plan.mesh, *graph.Find("left"), plan.ops[*graph.Find("left")].strategy), "jjj");
  for (const char* op : {"", ".bias", ".flat"}) {
    EXPECT_EQ(plan.ops[*graph.Find(absl::StrCat("left", op))].strategy,
              plan.ops[*graph.Find(absl::StrCat("right", op))].strategy)
        << op;
  }
}

TEST(ClassicTest, BendsAroundAPin) {
  const ir::Graph graph = MatmulChain({32768, 1024, 1024, 1024});
  ir::Pins pins;
  pins.pins.push_back(ShardOn(*graph.Find("m0"), {{1, 1}, {1, 8}}));
  EXPECT_EQ(ClassicLetters(graph, pins), (std::vector<std::string>{"jjj", "kkk"}));  // the second ((1, 8), (8, 1))
}

TEST(SearchTest, KeepsThePinThatThePublishedPlanHas) {
  const ir::Graph graph = SeedNetwork();
  const ir::OpId first = *graph.Find("h0");
  ir::Pins pins;
  pins.pins.push_back(ShardOn(first, {{4, 2}, {1, 2}}));
  const ir::Plan plan = FoundPlan(graph, CpuCluster(8), {.dataset = {}}, pins);
  EXPECT_EQ(ir::InStrategyText(ir::InStrategy(plan.ops[first].strategy, ir::RuleOf(graph, graph.op(first)), plan.mesh)),
            "((4, 2), (1, 2))");
  EXPECT_EQ(plan.ops[first].decided_by, ir::DecidedBy::kPin);
  EXPECT_NEAR(plan.search.cost, 435353.6, 1);
  const ir::Layout output = ir::OutputLayout(plan.ops[first].strategy, ir::RuleOf(graph, graph.op(first)));
  EXPECT_EQ(ir::LargestLocalShape(output, plan.mesh, graph.op(first).type.shape), (ir::Shape{64, 512}));
}

TEST(SearchTest, AnyNumberOfDevicesGetsASoundPlan) {
  const std::vector<ir::Graph> graphs = {SeedNetwork(), Gpt({}), Mlp(3, {5, 7, 2})};
  for (const ir::Graph& graph : graphs) {
    for (int64_t devices : {1, 2, 3, 5, 6, 7, 8, 12}) {
      const ir::Plan plan = FoundPlan(graph, CpuCluster(devices), {.dataset = {}});
      EXPECT_EQ(plan.mesh.rank_count(), devices);
      EXPECT_EQ(ir::VerifyPlan(graph, plan), std::vector<std::string>{}) << devices;
      EXPECT_NEAR(plan.search.cost, PlanCost(FactsOf(graph), plan).price, 1e-6 * plan.search.cost) << devices;
    }
  }
}

TEST(SearchTest, NoWorseThanDataParallel) {
  for (const ir::Graph& graph : {SeedNetwork(), Gpt({}), Mlp(32, kSixOf256)}) {
    for (int64_t devices : {4, 6}) {
      const double found = FoundPlan(graph, CpuCluster(devices), {.dataset = {}}).search.cost;
      const SearchOptions data_parallel{.algorithm = ir::SearchAlgorithm::kDataParallel, .dataset = {}};
      EXPECT_LE(found, FoundPlan(graph, CpuCluster(devices), data_parallel).search.cost * (1 + 1e-9)) << devices;
    }
  }
}

TEST(SearchTest, TheSameInputGivesTheSamePlan) {
  const ir::Graph graph = Gpt({});
  ir::Plan first = FoundPlan(graph, CpuCluster(6), {.dataset = {}}),
           second = FoundPlan(graph, CpuCluster(6), {.dataset = {}});
  EXPECT_EQ(first, second);
}

TEST(SearchTest, EveryOpHasAReasonAndProductsHaveChoices) {
  const ir::Graph graph = SeedNetwork();
  const ir::Plan plan = FoundPlan(graph, CpuCluster(8), {.dataset = {}});
  for (const ir::Op& op : graph.ops) EXPECT_NE(plan.ops[op.id].reason, "") << op.name;
  const ir::OpPlan& second = plan.ops[*graph.Find("h1")];
  ASSERT_GE(second.choices.size(), 2u);
  EXPECT_TRUE(second.choices[0].chosen);
  EXPECT_LE(second.choices[0].cost, second.choices[1].cost);
}

TEST(SearchTest, SaysWhenDevicesRepeatWork) {
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan = Search(Mlp(1, {1, 1}), CpuCluster(2), {}, {.dataset = {}}, diagnostics);
  ASSERT_TRUE(plan.has_value());
  ASSERT_FALSE(diagnostics.items().empty());
  EXPECT_EQ(diagnostics.items().back().code, Code::kW0603);
  EXPECT_EQ(diagnostics.items().back().message, "only 1 of 2 devices have work of their own");
}

TEST(SearchTest, RefusesWhatItCannotDo) {
  const std::pair<SearchOptions, Code> cases[] = {
      {{.algorithm = ir::SearchAlgorithm::kManual, .dataset = {}}, Code::kE0711},
      {{.algorithm = ir::SearchAlgorithm::kExact, .price = ir::Price::kClassic, .dataset = {}}, Code::kE0220}};
  for (const auto& [options, code] : cases) {
    Diagnostics diagnostics;
    EXPECT_FALSE(Search(SeedNetwork(), CpuCluster(8), {}, options, diagnostics).has_value());
    ASSERT_EQ(diagnostics.error_count(), 1);
    EXPECT_EQ(diagnostics.items()[0].code, code);
  }
}

// Layers are equal, so what is made for one holds for all: only the first and the last differ.
TEST(DepthTest, RulesDoNotGrowWithIt) {
  const auto rules_of = [](int layers) {
    const ir::Graph graph = Gpt({.layers = layers});
    ir::RuleTable rules;
    for (const ir::Op& op : graph.ops) rules.Of(graph, op);
    return rules.size();
  };
  EXPECT_EQ(rules_of(30), rules_of(3));
}

// Of a deep model few layers are searched. The plan is the one that is found with all of them, or a cheaper one: of few
// layers more plans are looked at. What replicas share is cut afterwards, which may favour either.
TEST(DepthTest, FewLayersDecideAll) {
  int equal = 0;
  for (const ir::Graph& graph : {Gpt({.layers = 30}), testing::MixtureOfExperts({.layers = 24})}) {
    for (const int ranks : {6, 16}) {
      for (const ir::Price price : {ir::Price::kBytes, ir::Price::kTime}) {
        for (const int zero : {0, 3}) {
          SCOPED_TRACE(::testing::Message() << ranks << " ranks, " << PriceName(price) << ", zero " << zero);
          SearchOptions options{.price = price, .dataset = {}, .zero = zero};
          options.tuning.large_ops = 200;
          Diagnostics diagnostics;
          const std::optional<ir::Plan> few = Search(graph, CpuCluster(ranks), {}, options, diagnostics);
          options.tuning.searched_layers = 1000;
          const std::optional<ir::Plan> all = Search(graph, CpuCluster(ranks), {}, options, diagnostics);
          ASSERT_TRUE(few.has_value() && all.has_value());
          if (zero == 0) ASSERT_LE(few->search.cost, all->search.cost * (1 + 1e-9));
          if (std::abs(few->search.cost - all->search.cost) > all->search.cost * 1e-9) continue;
          ++equal;
          for (const ir::Op& op : graph.ops) {
            const ir::OpPlan& own = few->ops[op.id];
            const ir::OpPlan& expected = all->ops[op.id];
            EXPECT_TRUE(own.strategy == expected.strategy && own.output == expected.output) << op.name;
            EXPECT_EQ(own.retention, expected.retention) << op.name;
            EXPECT_EQ(own.decided_by, expected.decided_by) << op.name;
            // What another choice costs depends on how many layers follow it.
            const auto what = [](const std::string& reason) { return reason.substr(0, reason.find("; next is")); };
            EXPECT_EQ(what(own.reason), what(expected.reason)) << op.name;
          }
        }
      }
    }
  }
  EXPECT_GE(equal, 10);
}

// The search measures plans against a limit; the program that it made is that of the plan that it returns.
TEST(SearchForProgramTest, GivesTheProgramThatWasMeasured) {
  const ir::Graph graph = Gpt({});
  Diagnostics diagnostics;
  const std::optional<Found> free = SearchForProgram(graph, CpuCluster(4), {}, {.dataset = {}}, diagnostics);
  ASSERT_TRUE(free.has_value());
  EXPECT_FALSE(free->program.has_value());
  ir::Pins pins;
  pins.settings.memory = ir::Placed<int64_t>{.value = int64_t{1} << 40, .span = {}};
  const std::optional<Found> limited = SearchForProgram(graph, CpuCluster(4), pins, {.dataset = {}}, diagnostics);
  ASSERT_TRUE(limited.has_value() && limited->program.has_value());
  EXPECT_EQ(limited->plan, free->plan);
  EXPECT_EQ(limited->program->program, ProgramOf(graph, limited->plan)->program);
}

}  // namespace
}  // namespace cleave::search
