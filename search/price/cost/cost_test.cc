#include "search/price/cost/cost.h"

#include <random>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::Mlp;
using testing::Rolled;
using testing::SeedNetwork;

// The price from the layouts is the price of the collectives that partition inserts.
void ExpectAgreement(const ir::Graph& graph, const ir::Plan& plan) {
  const absl::StatusOr<ir::Distributed> distributed = ir::Distribute(graph, plan);
  ASSERT_TRUE(distributed.ok()) << distributed.status();
  const absl::StatusOr<ir::Program> program = ir::Partition(distributed->graph, distributed->plan);
  ASSERT_TRUE(program.ok()) << program.status();
  const GraphFacts facts = FactsOf(graph, plan.micro_batches);
  const double from_layouts = PlanCost(facts, plan).price;
  EXPECT_NEAR(ProgramCost(facts, *distributed, *program).price, from_layouts, 1e-6 * from_layouts + 1e-6);
}

void ExpectAgreement(const ir::Graph& graph, int64_t devices, ir::SearchAlgorithm algorithm, int zero = 0,
                     int64_t micro_batches = 1) {
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan =
      Search(graph, CpuCluster(devices), {},
             {.algorithm = algorithm, .dataset = {}, .zero = zero, .micro_batches = micro_batches}, diagnostics);
  ASSERT_TRUE(plan.has_value());
  SCOPED_TRACE(::testing::Message() << devices << " devices, zero = " << zero << ", " << micro_batches
                                    << " micro-batches");
  ExpectAgreement(graph, *plan);
  const double cost = PlanCost(FactsOf(graph, micro_batches), *plan).price;
  EXPECT_NEAR(plan->search.cost, cost, 1e-6 * plan->search.cost + 1e-6);
}

// Gradients are sent once, parts of them that are scattered and parameters of zero 3 for each micro-batch.
TEST(ProgramCostTest, EqualsPlanCostInMicroBatches) {
  for (const int zero : {0, 1, 2, 3}) {
    for (const ir::SearchAlgorithm algorithm : {ir::SearchAlgorithm::kSapp, ir::SearchAlgorithm::kDataParallel}) {
      ExpectAgreement(Mlp(32, {256, 256, 256, 256}), 4, algorithm, zero, 4);
      ExpectAgreement(Mlp(2048, {64, 64, 64}), 4, algorithm, zero, 4);
    }
  }
}

TEST(ProgramCostTest, EqualsPlanCost) {
  for (int64_t devices : {1, 2, 3, 4, 6, 8}) {
    for (ir::SearchAlgorithm algorithm :
         {ir::SearchAlgorithm::kSapp, ir::SearchAlgorithm::kDataParallel, ir::SearchAlgorithm::kReplicate}) {
      ExpectAgreement(SeedNetwork(), devices, algorithm);
      ExpectAgreement(Mlp(32, {256, 256, 256, 256}), devices, algorithm);
    }
  }
}

// Halos of shifted rows, of which some ranks have none.
TEST(ProgramCostTest, EqualsPlanCostOfShiftedRows) {
  for (int64_t devices : {2, 3, 4, 8}) {
    for (int64_t by : {1, 3, 30}) ExpectAgreement(Rolled(61, 6, by), devices, ir::SearchAlgorithm::kSapp);
  }
}

TEST(ProgramCostTest, EqualsPlanCostForATransformer) {
  for (int64_t devices : {2, 4}) {
    ExpectAgreement(Gpt({}), devices, ir::SearchAlgorithm::kSapp);
    ExpectAgreement(Gpt({}), devices, ir::SearchAlgorithm::kDataParallel);
  }
}

// A block with its rows cut: what distributed forms send is part of the price.
TEST(ProgramCostTest, EqualsPlanCostWithCutRows) {
  constexpr uint64_t kSeed = 4;
  std::mt19937_64 random(kSeed);
  const ir::Graph graph = Gpt({});
  int forms = 0;
  for (int64_t devices : {2, 3, 4, 6}) {
    for (int round = 0; round < 4; ++round) {
      SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", " << devices << " devices, round " << round);
      ir::Plan plan{.mesh = ir::Mesh::OfDevices(devices), .ops = {}, .search = {}};
      for (const ir::Op& op : graph.ops) {
        const ir::Rule rule = ir::RuleOf(graph, op);
        ir::Strategy strategy = ir::Strategy::Replicated(rule);
        if (op.inherits.has_value()) {
          strategy = ir::InheritStrategy(plan.ops[op.inherits->op].strategy, *op.inherits, rule, plan.mesh);
        }
        for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
          if (op.inherits.has_value() || rule.factors[factor].kind != ir::FactorKind::kInner) continue;
          for (ir::AxisId axis : plan.mesh.AxisIds()) {
            const size_t place = random() % 3 == 0 ? 0 : factor;
            if (auto cut = ir::WithCut(strategy, rule, plan.mesh, static_cast<int>(place), axis); cut.ok())
              strategy = *cut;
          }
        }
        forms += ir::CutsInnerFactor(strategy, rule, plan.mesh);
        ir::OpPlan planned;
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
      ExpectAgreement(Gpt({}), devices, ir::SearchAlgorithm::kDataParallel, zero);
      ExpectAgreement(Gpt({}), devices, ir::SearchAlgorithm::kSapp, zero);
      ExpectAgreement(Mlp(32, {256, 256, 7}), devices, ir::SearchAlgorithm::kDataParallel, zero);
    }
  }
}

}  // namespace
}  // namespace cleave::search
