#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "ir/testing/seed.h"
#include "search/minsum/minsum.h"
#include "search/minsum/random_problem.h"

namespace cleave::search {
namespace {

TEST(IlpTest, EqualsBruteForceOnRandomProblems) {
  std::mt19937_64 random(ir::TestSeed());
  for (int turn = 0; turn < 300; ++turn) {
    RandomProblemOptions options;
    if (turn % 3 == 1) options.cost = 2;
    if (turn % 3 == 2) options.cost = 100'000;
    if (turn % 5 == 0) options.forbidden = 0.5;
    const MinSum problem = RandomProblem(options, random);
    const int64_t least = BruteForce(problem).cost;
    const Solution found = SolveIlp(problem, {});
    ASSERT_EQ(found.cost, least) << ToString(problem);
    ASSERT_EQ(found.lower_bound, least) << ToString(problem);
    ASSERT_EQ(CostOf(problem, found.values), least) << ToString(problem);
  }
}

// Doubles do not distinguish such sums to the last unit: the bound says how exact they are.
TEST(IlpTest, BoundsLargeCostsSafely) {
  std::mt19937_64 random(ir::TestSeed());
  for (int turn = 0; turn < 200; ++turn) {
    const MinSum problem = RandomProblem({.cost = 1'000'000'000'000'000}, random);
    const int64_t least = BruteForce(problem).cost;
    const Solution found = SolveIlp(problem, {});
    ASSERT_LE(found.lower_bound, least) << ToString(problem);
    ASSERT_GE(found.cost, least) << ToString(problem);
    ASSERT_GE(found.lower_bound, least - least / 1'000'000) << ToString(problem);
    ASSERT_LE(found.cost, least + least / 1'000'000) << ToString(problem);
  }
}

// Large costs that are multiples of a large step are as exact as small ones.
TEST(IlpTest, ProvesLargeCostsWithACommonStep) {
  std::mt19937_64 random(ir::TestSeed());
  for (int turn = 0; turn < 100; ++turn) {
    MinSum problem = RandomProblem({.cost = 1000, .forbidden = 0}, random);
    for (CostTable& table : problem.tables) {
      for (int64_t& cost : table.costs) cost *= 1'000'000'000'000;
    }
    const int64_t least = BruteForce(problem).cost;
    const Solution found = SolveIlp(problem, {});
    ASSERT_EQ(found.cost, least) << ToString(problem);
    ASSERT_EQ(found.lower_bound, least) << ToString(problem);
  }
}

TEST(IlpTest, EqualsEliminationOnLayers) {
  std::mt19937_64 random(ir::TestSeed());
  const MinSum problem = LayeredProblem(3, random);
  const Solution found = SolveIlp(problem, {});
  EXPECT_EQ(found.cost, Eliminate(problem, {})->cost);
  EXPECT_GE(found.lower_bound, found.cost - found.cost / 1'000'000);
}

// Any two of `count` variables should differ, which costs nothing, but there are too few values for that: the
// relaxation costs nothing, and the best choice does.
MinSum TooFewColours(int count, int colours) {
  MinSum problem{.domains = std::vector<int>(static_cast<size_t>(count), colours),
                 .tables = {{.sizes = {colours, colours}, .costs = {}}},
                 .terms = {}};
  for (int i = 0; i < colours * colours; ++i) problem.tables[0].costs.push_back(i % (colours + 1) == 0 ? 1 : 0);
  for (int a = 0; a < count; ++a) {
    for (int b = a + 1; b < count; ++b) problem.terms.push_back({.scope = {a, b}, .table = 0});
  }
  return problem;
}

TEST(IlpTest, BranchesWhereTheRelaxationIsNotIntegral) {
  const Solution found = SolveIlp(TooFewColours(7, 3), {});
  EXPECT_EQ(found.cost, 5);  // Colours shared by 3, 2 and 2 variables: 3 + 1 + 1 pairs.
  EXPECT_EQ(found.lower_bound, 5);
}

TEST(IlpTest, EndsAtTheNodeLimitWithABoundAndTheStart) {
  const MinSum problem = TooFewColours(11, 4);
  const int64_t least = 3 * 3 + 1;  // Colours shared by 3, 3, 3 and 2 variables.
  std::vector<int> start(11);
  for (size_t v = 0; v < start.size(); ++v) start[v] = static_cast<int>(v % 4);
  ASSERT_EQ(CostOf(problem, start), least);
  const Solution found = SolveIlp(problem, {.nodes = 1, .start = start});
  EXPECT_EQ(found.cost, least);
  EXPECT_LT(found.lower_bound, least);
  const Solution without = SolveIlp(problem, {.nodes = 1});
  EXPECT_GE(without.cost, least);
  EXPECT_LE(without.lower_bound, least);
}

TEST(IlpTest, SaysWhatCannotBe) {
  const MinSum problem{.domains = {2, 2, 2},
                       .tables = {{.sizes = {2, 2}, .costs = {kForbidden, 0, 0, kForbidden}}},
                       .terms = {{{0, 1}, 0}, {{1, 2}, 0}, {{0, 2}, 0}}};
  const Solution found = SolveIlp(problem, {});
  EXPECT_EQ(found.cost, kForbidden);
  EXPECT_EQ(found.lower_bound, kForbidden);
}

TEST(IlpTest, AnswersTheSameTwiceAndPrintsNothing) {
  std::mt19937_64 random(ir::TestSeed());
  const MinSum problem = RandomProblem({.variables = 20, .terms = 60, .cost = 1000}, random);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Solution first = SolveIlp(problem, {.start = std::vector<int>(problem.domains.size(), 0)});
  const Solution second = SolveIlp(problem, {.start = std::vector<int>(problem.domains.size(), 0)});
  const Solution with_branches = SolveIlp(TooFewColours(7, 3), {});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(first, second);
  EXPECT_EQ(with_branches.cost, 5);
}

}  // namespace
}  // namespace cleave::search
