#include "search/cost/cost.h"

#include <random>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave {
namespace {

using testing::Gpt;
using testing::Mlp;
using testing::SeedNetwork;

// The price from the layouts is the price of the collectives that partition inserts.
void ExpectAgreement(const Graph& graph, const Plan& plan) {
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  ASSERT_TRUE(distributed.ok()) << distributed.status();
  const absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
  ASSERT_TRUE(program.ok()) << program.status();
  const double from_layouts = PlanCost(FactsOf(graph), plan).price;
  EXPECT_NEAR(ProgramCost(FactsOf(graph), *distributed, *program).price, from_layouts, 1e-6 * from_layouts + 1e-6);
}

void ExpectAgreement(const Graph& graph, int64_t devices, SearchAlgorithm algorithm, int zero = 0) {
  Diagnostics diagnostics;
  const std::optional<Plan> plan =
      Search(graph, CpuCluster(devices), {}, {.algorithm = algorithm, .dataset = {}, .zero = zero}, diagnostics);
  ASSERT_TRUE(plan.has_value());
  SCOPED_TRACE(::testing::Message() << devices << " devices, zero = " << zero);
  ExpectAgreement(graph, *plan);
  EXPECT_NEAR(plan->search.cost, PlanCost(FactsOf(graph), *plan).price, 1e-6 * plan->search.cost + 1e-6);
}

TEST(ProgramCostTest, EqualsPlanCost) {
  for (int64_t devices : {1, 2, 3, 4, 6, 8}) {
    for (SearchAlgorithm algorithm :
         {SearchAlgorithm::kSapp, SearchAlgorithm::kDataParallel, SearchAlgorithm::kReplicate}) {
      ExpectAgreement(SeedNetwork(), devices, algorithm);
      ExpectAgreement(Mlp(32, {256, 256, 256, 256}), devices, algorithm);
    }
  }
}

TEST(ProgramCostTest, EqualsPlanCostForATransformer) {
  for (int64_t devices : {2, 4}) {
    ExpectAgreement(Gpt({}), devices, SearchAlgorithm::kSapp);
    ExpectAgreement(Gpt({}), devices, SearchAlgorithm::kDataParallel);
  }
}

// A block with its rows cut: what distributed forms send is part of the price.
TEST(ProgramCostTest, EqualsPlanCostWithCutRows) {
  constexpr uint64_t kSeed = 4;
  std::mt19937_64 random(kSeed);
  const Graph graph = Gpt({});
  int forms = 0;
  for (int64_t devices : {2, 3, 4, 6}) {
    for (int round = 0; round < 4; ++round) {
      SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", " << devices << " devices, round " << round);
      Plan plan{.mesh = Mesh::OfDevices(devices), .ops = {}, .search = {}};
      for (const Op& op : graph.ops) {
        const Rule rule = RuleOf(graph, op);
        Strategy strategy = Strategy::Replicated(rule);
        if (op.inherits.has_value()) {
          strategy = InheritStrategy(plan.ops[op.inherits->op].strategy, *op.inherits, rule, plan.mesh);
        }
        for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
          if (op.inherits.has_value() || rule.factors[factor].kind != FactorKind::kInner) continue;
          for (AxisId axis : plan.mesh.AxisIds()) {
            const size_t place = random() % 3 == 0 ? 0 : factor;
            if (auto cut = WithCut(strategy, rule, plan.mesh, static_cast<int>(place), axis); cut.ok()) strategy = *cut;
          }
        }
        forms += CutsInnerFactor(strategy, rule, plan.mesh);
        OpPlan planned;
        planned.strategy = std::move(strategy);
        plan.ops.push_back(std::move(planned));
      }
      ExpectAgreement(graph, plan);
    }
  }
  EXPECT_GT(forms, 100);
}

TEST(ProgramCostTest, EqualsPlanCostWithDividedReplicas) {
  for (int64_t devices : {2, 3, 4}) {
    for (int zero : {1, 2, 3}) {
      ExpectAgreement(Gpt({}), devices, SearchAlgorithm::kDataParallel, zero);
      ExpectAgreement(Gpt({}), devices, SearchAlgorithm::kSapp, zero);
      ExpectAgreement(Mlp(32, {256, 256, 7}), devices, SearchAlgorithm::kDataParallel, zero);
    }
  }
}

}  // namespace
}  // namespace cleave
