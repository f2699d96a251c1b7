#include "ir/program/redistribute/redistribute.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/program/redistribute/sampling.h"
#include "ir/program/redistribute/testing.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/meshes.h"

namespace cleave::ir {
namespace {

// ---- Many ranks ----

// The simple way: reduce, gather what is wrong, slice.
double PlainCost(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target) {
  Layout now = source;
  double cost = 0;
  const auto apply = [&](Move move) {
    cost += MoveCost(mesh, type, now, move);
    now = move.result;
  };
  if (source.is_partial()) {
    Move reduce{.collective = CollectiveKind::kAllReduce, .axes = source.PartialAxes(), .result = now};
    reduce.result.partial.clear();
    apply(std::move(reduce));
  }
  for (size_t d = 0; d < now.dimensions.size(); ++d) {
    const AxisList& here = now.dimensions[d];
    const AxisList& wanted = target.dimensions[d];
    const auto wrong = std::mismatch(here.begin(), here.end(), wanted.begin(), wanted.end()).first;
    if (wrong == here.end()) continue;
    Move gather{.collective = CollectiveKind::kAllGather, .axes = {wrong, here.end()}, .result = now};
    gather.result.dimensions[d].erase(gather.result.dimensions[d].begin() + (wrong - here.begin()),
                                      gather.result.dimensions[d].end());
    apply(std::move(gather));
  }
  return cost;
}

Mesh TwoLinks(int64_t devices, double inner_weight) {
  std::vector<MeshAxis> axes = Mesh::OfDevices(devices).axes();
  for (size_t i = axes.size() / 2; i < axes.size(); ++i) axes[i].weight = inner_weight;
  return *Mesh::Create(axes);
}

// Whether some layout before the last is a whole copy on every rank.
bool PassesFullCopy(const Redistribution& plan, const Layout& target) {
  const Layout whole = Layout::Replicated(static_cast<int>(target.dimensions.size()));
  return target != whole &&
         std::any_of(plan.moves.begin(), plan.moves.end(), [&](const Move& move) { return move.result == whole; });
}

TEST(RedistributeTest, ManyRanksStayBetweenTheBoundAndThePlainWay) {
  constexpr uint32_t kSeed = 4;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 300; ++round) {
    const int64_t devices = std::vector<int64_t>{64, 96, 256, 320, 1024}[random() % 5];
    const Mesh mesh = TwoLinks(devices, round % 2 == 0 ? 1 : 0.1);
    const bool is_even = round % 3 != 0;
    const TensorType type{DType::kF32, is_even ? Shape{30720, 15360, 30720} : Shape{1000, 7, 30522}};
    const Layout source = RandomLayout(mesh, 3, round % 4 < 2, random);
    const Layout target = RandomLayout(mesh, 3, false, random);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round << ": " << LayoutText(source, mesh)
                                    << " -> " << LayoutText(target, mesh));
    const absl::StatusOr<Redistribution> plan = PlanRedistribution(mesh, type, source, target);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const double tolerance = 1e-9 * plan->cost;
    EXPECT_GE(plan->cost, CostAtLeast(mesh, type, source, target) - tolerance);
    EXPECT_LE(plan->cost, PlainCost(mesh, type, source, target) + tolerance);
    EXPECT_EQ(*plan, *PlanRedistribution(mesh, type, source, target));
    double cost = 0;
    const Layout* before = &source;
    for (const Move& move : plan->moves) {
      cost += MoveCost(mesh, type, *before, move);
      before = &move.result;
    }
    EXPECT_EQ(*before, target);
    EXPECT_NEAR(cost, plan->cost, 1e-9 * cost);
    // Where all pieces are equal there is always a way that gathers no more than the target has.
    EXPECT_FALSE(is_even && PassesFullCopy(*plan, target));
  }
}

TEST(RedistributeTest, AxesThatNeitherLayoutUsesStayIdle) {
  // A bias whose gradient is partial over eight hosts and the same on their eight ranks.
  const Mesh mesh = MeshOf({8, 8}, {1, 0.1});
  EXPECT_EQ(PathText(mesh, {512}, "[-] partial(m0: sum)", "[-]"), "all_reduce [-]");
  EXPECT_DOUBLE_EQ(CostOf(mesh, {512}, "[-] partial(m0: sum)", "[-]"), 2 * 0.875 * 2048);
}

// ---- Known answers ----

TEST(RedistributeTest, CollectiveCountsOfDTensor) {
  const Mesh mesh = MeshOf({4});
  for (int64_t elements : {12, 13, 14}) {
    EXPECT_EQ(PathText(mesh, {elements}, "[m0]", "[-]"), "all_gather [-]");
    EXPECT_EQ(PathText(mesh, {elements}, "[-]", "[m0]"), "slice [m0]");
    EXPECT_EQ(PathText(mesh, {elements}, "[-]", "[-]"), "");
    EXPECT_EQ(PathText(mesh, {elements}, "[-] partial(m0: sum)", "[-]"), "all_reduce [-]");
    EXPECT_EQ(PathText(mesh, {elements}, "[-] partial(m0: sum)", "[m0]"), "reduce_scatter [m0]");
  }
}

TEST(RedistributeTest, KnownPaths) {
  const Mesh cube = MeshOf({2, 2, 2});
  EXPECT_EQ(PathText(MeshOf({16}), {16, 16}, "[m0, -]", "[-, m0]"), "all_to_all [-, m0]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[m0 m1 m2, -]", "[-, m0 m1 m2]"), "all_to_all [-, m0 m1 m2]");
  EXPECT_EQ(PathText(cube, {4, 4, 4}, "[m0, m1, -]", "[-, m1, m0]"), "all_to_all [-, m1, m0]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[m0, m1]", "[m1, m0]"), "permute [m1, m0]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[m0 m1 m2, -]", "[m0, m1 m2]"), "all_to_all [m0, m1 m2]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[-, -] partial(m0: sum, m1: sum, m2: sum)", "[-, -]"), "all_reduce [-, -]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[m0, -] partial(m1: sum, m2: sum)", "[m0, m1 m2]"), "reduce_scatter [m0, m1 m2]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[-, -]", "[m0 m1, m2]"), "slice [m0 m1, m2]");
}

TEST(RedistributeTest, CannotMakePartial) {
  const Mesh mesh = MeshOf({2, 2});
  EXPECT_EQ(PathText(mesh, {4}, "[-]", "[-] partial(m0: sum)"),
            "a tensor that lies as [-] cannot be made partial over `m0` (sum)");
  EXPECT_EQ(PathText(mesh, {4}, "[-] partial(m0: max)", "[-] partial(m0: sum)"),
            "a tensor that lies as [-] partial(m0: max) cannot be made partial over `m0` (sum)");
  EXPECT_EQ(PathText(mesh, {4}, "[m1] partial(m0: sum)", "[-] partial(m0: sum)"), "all_gather [-] partial(m0: sum)");
}

TEST(RedistributeTest, PricesInClosedForm) {
  const Mesh four = MeshOf({4});
  EXPECT_DOUBLE_EQ(CostOf(four, {256, 32}, "[-, -] partial(m0: sum)", "[-, -]"), 2 * 0.75 * 32768);
  EXPECT_DOUBLE_EQ(CostOf(four, {256, 32}, "[-, -] partial(m0: sum)", "[m0, -]"), 0.75 * 32768);
  EXPECT_DOUBLE_EQ(CostOf(four, {256, 32}, "[m0, -]", "[-, -]"), 0.75 * 32768);
  EXPECT_DOUBLE_EQ(CostOf(four, {256, 32}, "[m0, -]", "[-, m0]"), 0.75 * 8192);
  EXPECT_DOUBLE_EQ(CostOf(four, {13}, "[m0]", "[-]"), 0.75 * 52);
  // Two hosts of two: inside a host on the whole, between the hosts on half.
  const Mesh hosts = MeshOf({2, 2}, {1, 0.1});
  EXPECT_DOUBLE_EQ(CostOf(hosts, {32, 32}, "[-, -] partial(m0: sum, m1: sum)", "[-, -]"), 4096 * 0.1 + 2048);
  EXPECT_EQ(PathText(hosts, {32, 32}, "[-, -] partial(m0: sum, m1: sum)", "[-, -]"), "all_reduce [-, -]");
}

}  // namespace
}  // namespace cleave::ir
