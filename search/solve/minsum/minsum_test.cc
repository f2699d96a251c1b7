#include "search/solve/minsum/minsum.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/testing/seed.h"
#include "search/solve/minsum/pruning.h"
#include "search/solve/minsum/random_problem.h"

namespace cleave::search {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MinSum TwoVariables() {
  return {.domains = {2, 3},
          .tables = {{.sizes = {2, 3}, .costs = {4, 1, 0, 2, 9, 5}}},
          .terms = {{.scope = {0, 1}, .table = 0}}};
}

// Options in turn: ties, ordinary costs, costs whose sums reach kForbidden, and many forbidden entries.
RandomProblemOptions OptionsInTurn(int turn) {
  RandomProblemOptions options;
  if (turn % 3 == 1) options.cost = 2;
  if (turn % 3 == 2) options.cost = kForbidden - 1;
  if (turn % 5 == 0) options.forbidden = 0.5;
  return options;
}

// Every variable with every later one.
MinSum Complete(int variables, int domain, std::mt19937_64& random) {
  MinSum problem{.domains = std::vector<int>(static_cast<size_t>(variables), domain), .tables = {}, .terms = {}};
  for (int a = 0; a < variables; ++a) {
    for (int b = a + 1; b < variables; ++b) {
      problem.terms.push_back({.scope = {a, b}, .table = static_cast<int>(problem.tables.size())});
      CostTable& table = problem.tables.emplace_back(CostTable{.sizes = {domain, domain}, .costs = {}});
      for (int i = 0; i < domain * domain; ++i) table.costs.push_back(static_cast<int64_t>(random() % 100));
    }
  }
  return problem;
}

TEST(VerifyTest, SaysWhatIsWrong) {
  EXPECT_THAT(VerifyMinSum(TwoVariables()), IsEmpty());
  const auto wrong = [](auto change) {
    MinSum problem = TwoVariables();
    change(problem);
    return VerifyMinSum(problem);
  };
  EXPECT_THAT(wrong([](MinSum& p) { p.domains.push_back(0); }), ElementsAre("variable 2 has no values"));
  EXPECT_THAT(wrong([](MinSum& p) { p.tables[0].costs.pop_back(); }),
              ElementsAre("table 0 does not have as many costs as its sizes say"));
  EXPECT_THAT(wrong([](MinSum& p) { p.tables[0].costs[3] = -1; }),
              ElementsAre("table 0 has a cost below 0 or above kForbidden"));
  EXPECT_THAT(wrong([](MinSum& p) { p.tables[0].costs[3] = kForbidden + 1; }),
              ElementsAre("table 0 has a cost below 0 or above kForbidden"));
  EXPECT_THAT(wrong([](MinSum& p) { p.terms[0].table = 1; }), ElementsAre("term 0 names no table"));
  EXPECT_THAT(wrong([](MinSum& p) { p.terms[0].scope = {1}; }),
              ElementsAre("term 0 has another number of variables than its table"));
  EXPECT_THAT(wrong([](MinSum& p) { p.terms[0].scope = {0, 2}; }), ElementsAre("term 0 names no variable"));
  EXPECT_THAT(wrong([](MinSum& p) {
                p.terms[0].scope = {0, 0};
              }),
              ElementsAre("term 0 has a scope that is not ascending"));
  EXPECT_THAT(wrong([](MinSum& p) { p.domains[1] = 4; }), ElementsAre("term 0 has a domain of another size"));
  EXPECT_THAT(wrong([](MinSum& p) {
                p.tables.push_back({.sizes = {1, 0}, .costs = {}});
              }),
              ElementsAre("table 1 has a size below 1"));
}

TEST(CostOfTest, AddsTheEntriesAndStaysAtForbidden) {
  MinSum problem = TwoVariables();
  EXPECT_EQ(CostOf(problem, {1, 1}), 9);
  problem.tables.push_back({.sizes = {}, .costs = {30}});
  problem.terms.push_back({.scope = {}, .table = 1});
  EXPECT_EQ(CostOf(problem, {0, 2}), 30);
  problem.tables[0].costs[2] = kForbidden;
  EXPECT_EQ(CostOf(problem, {0, 2}), kForbidden);
  problem.tables[0].costs[2] = kForbidden - 30;
  EXPECT_EQ(CostOf(problem, {0, 2}), kForbidden);
}

TEST(EliminateTest, ChoosesTheLeastSum) {
  const Solution best{.values = {0, 2}, .cost = 0, .lower_bound = 0, .work = 8};
  EXPECT_EQ(Eliminate(TwoVariables(), {}), best);
}

TEST(EliminateTest, AnEmptyProblemCostsNothing) {
  EXPECT_EQ(Eliminate(MinSum{}, {}), Solution{});
  EXPECT_EQ(EliminateInParts(MinSum{}, {}), Solution{});
}

TEST(EliminateTest, VariablesWithoutTermsTakeTheFirstValue) {
  EXPECT_THAT(Eliminate({.domains = {3, 1, 2}, .tables = {}, .terms = {}}, {})->values, ElementsAre(0, 0, 0));
}

TEST(EliminateTest, EqualsBruteForceOnRandomProblems) {
  std::mt19937_64 random(ir::TestSeed());
  for (int turn = 0; turn < 2000; ++turn) {
    const MinSum problem = RandomProblem(OptionsInTurn(turn), random);
    ASSERT_THAT(VerifyMinSum(problem), IsEmpty());
    const std::optional<Solution> found = Eliminate(problem, {});
    ASSERT_TRUE(found.has_value());
    const int64_t least = BruteForce(problem).cost;
    ASSERT_EQ(found->cost, least) << ToString(problem);
    ASSERT_EQ(found->lower_bound, least) << ToString(problem);
    ASSERT_EQ(CostOf(problem, found->values), least) << ToString(problem);
  }
}

// The choice between equally good solutions does not depend on how the problem is written.
TEST(EliminateTest, TermsInAnyOrderAndTablesOfTheirOwnGiveTheSameValues) {
  std::mt19937_64 random(ir::TestSeed());
  for (int turn = 0; turn < 500; ++turn) {
    const MinSum problem = RandomProblem({.variables = 12, .terms = 20, .cost = 2}, random);
    MinSum other{.domains = problem.domains, .tables = {}, .terms = problem.terms};
    std::shuffle(other.terms.begin(), other.terms.end(), random);
    for (CostTerm& term : other.terms) {
      other.tables.push_back(problem.tables[static_cast<size_t>(term.table)]);
      term.table = static_cast<int>(other.tables.size()) - 1;
    }
    ASSERT_EQ(Eliminate(problem, {})->values, Eliminate(other, {})->values) << ToString(problem);
  }
}

TEST(EliminateTest, OfEqualsTheSmallestValue) {
  // The pairs of values (1, 1) and (2, 2) cost nothing, all others something.
  const MinSum problem{.domains = {3, 3},
                       .tables = {{.sizes = {3, 3}, .costs = {5, 7, 7, 7, 0, 7, 7, 7, 0}}},
                       .terms = {{.scope = {0, 1}, .table = 0}}};
  EXPECT_THAT(Eliminate(problem, {})->values, ElementsAre(1, 1));
}

// Ten times as many equal layers need no more sums.
TEST(EliminateTest, EqualLayersAreWorkedOutOnce) {
  for (const uint64_t seed : {1, 2, 3}) {
    std::mt19937_64 random(seed);
    const MinSum tall = LayeredProblem(100, random);
    random.seed(seed);
    const MinSum low = LayeredProblem(10, random);
    ASSERT_THAT(VerifyMinSum(tall), IsEmpty());
    const std::optional<Solution> of_tall = Eliminate(tall, {});
    const std::optional<Solution> of_low = Eliminate(low, {});
    ASSERT_TRUE(of_tall.has_value() && of_low.has_value());
    EXPECT_EQ(of_tall->work, of_low->work);
    EXPECT_GT(of_tall->cost, 5 * of_low->cost);
  }
}

// A chain of 20,000 variables with one shared table, compared with its recurrence.
TEST(EliminateTest, LongChainsEqualTheRecurrence) {
  std::mt19937_64 random(ir::TestSeed());
  constexpr int kLength = 20000, kDomain = 5;
  MinSum problem{
      .domains = std::vector<int>(kLength, kDomain), .tables = {{.sizes = {5, 5}, .costs = {}}}, .terms = {}};
  for (int i = 0; i < kDomain * kDomain; ++i) {
    problem.tables[0].costs.push_back(static_cast<int64_t>(random() % 1'000'000'000'000));
  }
  for (int v = 0; v + 1 < kLength; ++v) problem.terms.push_back({.scope = {v, v + 1}, .table = 0});
  std::vector<int64_t> least(kDomain, 0);  // Up to here, per value of the variable.
  for (int v = 0; v + 1 < kLength; ++v) {
    std::vector<int64_t> next(kDomain, kForbidden);
    for (size_t a = 0; a < kDomain; ++a) {
      for (size_t b = 0; b < kDomain; ++b) {
        next[b] = std::min(next[b], least[a] + problem.tables[0].costs[a * kDomain + b]);
      }
    }
    least = next;
  }
  const std::optional<Solution> found = Eliminate(problem, {});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->cost, *std::min_element(least.begin(), least.end()));
}

TEST(EliminateTest, RefusesTablesBeyondItsLimits) {
  std::mt19937_64 random(ir::TestSeed());
  const MinSum problem = Complete(6, 3, random);  // Makes tables of 3^5, 3^4, … 1 entries.
  EXPECT_FALSE(Eliminate(problem, {.entries = 242}).has_value());
  EXPECT_TRUE(Eliminate(problem, {.entries = 243}).has_value());
  EXPECT_FALSE(Eliminate(problem, {.total = 363}).has_value());
  EXPECT_TRUE(Eliminate(problem, {.total = 364}).has_value());
}

TEST(EliminateInPartsTest, BoundsTheBestCostFromBothSides) {
  std::mt19937_64 random(ir::TestSeed());
  for (int turn = 0; turn < 2000; ++turn) {
    const MinSum problem = RandomProblem(OptionsInTurn(turn), random);
    const int64_t least = BruteForce(problem).cost;
    for (const int64_t entries : {1, 4, 16}) {
      const Solution found = EliminateInParts(problem, {.entries = entries});
      ASSERT_LE(found.lower_bound, least) << entries << " entries\n" << ToString(problem);
      ASSERT_GE(found.cost, least) << entries << " entries\n" << ToString(problem);
      ASSERT_EQ(CostOf(problem, found.values), found.cost) << ToString(problem);
    }
    const Solution whole = EliminateInParts(problem, {});
    ASSERT_EQ(whole.lower_bound, least) << ToString(problem);
    ASSERT_EQ(whole.cost, least) << ToString(problem);
  }
}

// Without the shifts between parts, the bound on a complete graph would be the sum of the least entries of separate
// trees.
TEST(EliminateInPartsTest, BoundsWideProblemsWell) {
  std::mt19937_64 random(20);
  for (int turn = 0; turn < 20; ++turn) {
    const MinSum problem = Complete(9, 3, random);
    const int64_t least = Eliminate(problem, {})->cost;
    const Solution found = EliminateInParts(problem, {.entries = 27});
    EXPECT_LT(found.lower_bound, least);
    EXPECT_GT(found.lower_bound, least / 2);
    EXPECT_LT(found.cost, least * 3 / 2);
  }
}

// A term's table without the values that are not left.
CostTable LeftOf(const MinSum& problem, const CostTerm& term, const Pruning& pruning) {
  CostTable table;
  for (int variable : term.scope) table.sizes.push_back(static_cast<int>(pruning.Left(variable).size()));
  const CostTable& whole = problem.tables[static_cast<size_t>(term.table)];
  for (size_t entry = 0; entry < whole.costs.size(); ++entry) {
    size_t rest = entry;
    bool is_left = true;
    for (size_t i = term.scope.size(); i-- > 0;) {
      const auto size = static_cast<size_t>(whole.sizes[i]);
      const std::vector<int>& left = pruning.Left(term.scope[i]);
      is_left = is_left && std::find(left.begin(), left.end(), static_cast<int>(rest % size)) != left.end();
      rest /= size;
    }
    if (is_left) table.costs.push_back(whole.costs[entry]);
  }
  return table;
}

// What a term costs at least with each value of the first variable of its scope.
std::vector<int64_t> LeastOfFirst(const MinSum& problem, const CostTerm& term) {
  const CostTable& table = problem.tables[static_cast<size_t>(term.table)];
  std::vector<int64_t> least(static_cast<size_t>(table.sizes[0]), kForbidden);
  const size_t inner = table.costs.size() / least.size();
  for (size_t i = 0; i < table.costs.size(); ++i) least[i / inner] = std::min(least[i / inner], table.costs[i]);
  return least;
}

// Some terms are expected before, as far as their first variable says what they cost. Returns whether values are left
// for all variables.
bool PruneAll(const MinSum& problem, Pruning& pruning) {
  std::vector<std::pair<size_t, Pruning::Expected>> expected;
  for (size_t i = 0; i < problem.terms.size(); i += 2) {
    const CostTerm& term = problem.terms[i];
    if (!term.scope.empty()) expected.emplace_back(i, pruning.Expect(term.scope[0], LeastOfFirst(problem, term)));
  }
  for (size_t i = 0; i < problem.terms.size(); ++i) {
    for (int variable : problem.terms[i].scope) {
      if (!pruning.Prune(variable)) return false;
    }
    if (!expected.empty() && expected.front().first == i) {
      pruning.Forget(expected.front().second);
      expected.erase(expected.begin());
    }
    pruning.Add(problem.terms[i].scope, LeftOf(problem, problem.terms[i], pruning), 1);
  }
  for (size_t v = 0; v < problem.domains.size(); ++v) {
    if (!pruning.Prune(static_cast<int>(v))) return false;
  }
  return true;
}

TEST(PruningTest, KeepsTheBestChoiceAndLeavesOutWhatIsTooExpensive) {
  std::mt19937_64 random(ir::TestSeed());
  int64_t left_out = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    const MinSum problem = RandomProblem(OptionsInTurn(turn), random);
    const Solution best = BruteForce(problem);
    if (best.cost == kForbidden) continue;
    Pruning pruning(problem.domains, best.cost + 1 + static_cast<int64_t>(random() % 3));
    ASSERT_TRUE(PruneAll(problem, pruning)) << ToString(problem);
    for (size_t v = 0; v < problem.domains.size(); ++v) {
      const std::vector<int>& left = pruning.Left(static_cast<int>(v));
      ASSERT_TRUE(std::find(left.begin(), left.end(), best.values[v]) != left.end()) << ToString(problem);
      left_out += problem.domains[v] - static_cast<int64_t>(left.size());
    }
  }
  EXPECT_GT(left_out, 1000);
}

TEST(PruningTest, CountsATermAsOftenAsItOccurs) {
  Pruning pruning({2, 3}, 12);
  pruning.Add({0, 1}, TwoVariables().tables[0], 2);  // Least for the values of the second: 4, 2, 0.
  EXPECT_TRUE(pruning.Prune(1));
  EXPECT_THAT(pruning.Left(1), ElementsAre(0, 1, 2));
  pruning.Add({1}, {.sizes = {3}, .costs = {2, 3, 5}}, 3);  // With these 10, 11, 15.
  EXPECT_TRUE(pruning.Prune(1));
  EXPECT_THAT(pruning.Left(1), ElementsAre(0, 1));
  pruning.Add({}, {.sizes = {}, .costs = {2}}, 1);
  EXPECT_FALSE(pruning.Prune(1));
}

}  // namespace
}  // namespace cleave::search
