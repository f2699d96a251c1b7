#include "search/cost/cost.h"

#include <string>

#include "gtest/gtest.h"
#include "ir/partition/partition.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave {
namespace {

using testing::Gpt;
using testing::Mlp;
using testing::SeedNetwork;

// The price from the layouts is the price of the collectives that partition inserts.
void ExpectAgreement(const Graph& graph, int64_t devices, SearchAlgorithm algorithm, int zero = 0) {
  Diagnostics diagnostics;
  const std::optional<Plan> plan =
      Search(graph, CpuCluster(devices), {}, {.algorithm = algorithm, .dataset = {}, .zero = zero}, diagnostics);
  ASSERT_TRUE(plan.has_value());
  const absl::StatusOr<Program> program = Partition(graph, *plan);
  ASSERT_TRUE(program.ok()) << program.status();
  const double from_layouts = PlanCost(graph, *plan).bytes;
  EXPECT_NEAR(ProgramCost(graph, *plan, *program).bytes, from_layouts, 1e-6 * from_layouts + 1e-6)
      << devices << " devices, zero = " << zero;
  EXPECT_NEAR(plan->search.cost, from_layouts, 1e-6 * from_layouts + 1e-6);
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
