#include "search/solve/minsum/random_problem.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cleave::search {
namespace {

int Draw(int least, int most, std::mt19937_64& random) {
  return std::uniform_int_distribution<int>(least, most)(random);
}

CostTable RandomTable(std::vector<int> sizes, const RandomProblemOptions& options, std::mt19937_64& random) {
  const int entries = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
  CostTable table{.sizes = std::move(sizes), .costs = {}};
  for (int i = 0; i < entries; ++i) {
    const bool is_forbidden = std::bernoulli_distribution(options.forbidden)(random);
    const int64_t cost = std::uniform_int_distribution<int64_t>(0, options.cost)(random);
    table.costs.push_back(is_forbidden ? kForbidden : cost);
  }
  return table;
}

std::vector<int> SizesOf(const MinSum& problem, const std::vector<int>& scope) {
  std::vector<int> sizes;
  for (const int variable : scope) sizes.push_back(problem.domains[static_cast<size_t>(variable)]);
  return sizes;
}

// The next choice in the order of counting, the last variable fastest; false after the last one.
bool Advance(const MinSum& problem, std::vector<int>& values) {
  for (size_t v = values.size(); v-- > 0;) {
    if (++values[v] < problem.domains[v]) return true;
    values[v] = 0;
  }
  return false;
}

}  // namespace

MinSum RandomProblem(const RandomProblemOptions& options, std::mt19937_64& random) {
  MinSum problem;
  const int variables = Draw(1, options.variables, random);
  for (int v = 0; v < variables; ++v) problem.domains.push_back(Draw(1, options.domain, random));
  std::vector<int> all(static_cast<size_t>(variables));
  std::iota(all.begin(), all.end(), 0);
  const int terms = Draw(0, options.terms, random);
  for (int t = 0; t < terms; ++t) {
    CostTerm term;
    const int size = Draw(0, std::min(options.scope, variables), random);
    std::sample(all.begin(), all.end(), std::back_inserter(term.scope), size, random);
    const std::vector<int> sizes = SizesOf(problem, term.scope);
    // Every second term uses an existing table, if one fits.
    const auto shared = std::find_if(problem.tables.begin(), problem.tables.end(),
                                     [&](const CostTable& table) { return table.sizes == sizes; });
    if (shared != problem.tables.end() && t % 2 == 0) {
      term.table = static_cast<int>(shared - problem.tables.begin());
    } else {
      term.table = static_cast<int>(problem.tables.size());
      problem.tables.push_back(RandomTable(sizes, options, random));
    }
    problem.terms.push_back(term);
  }
  return problem;
}

MinSum LayeredProblem(int layers, std::mt19937_64& random) {
  constexpr int kLayer = 25;
  const RandomProblemOptions options{.cost = 1'000'000, .forbidden = 0.01};
  // All layers share variable 0; the first layer begins after it.
  std::vector<int> domains;
  for (int v = 0; v <= kLayer; ++v) domains.push_back(Draw(3, 8, random));
  std::vector<std::vector<int>> scopes;  // Of the first layer.
  for (int v = 1; v <= kLayer; ++v) {
    const bool is_leaf = v % 3 == 0, follows_leaf = v % 3 == 1;
    scopes.push_back({v});
    scopes.push_back({v, is_leaf ? v + 1 : v + 2 - (follows_leaf ? 1 : 0)});
    if (v % 5 == 1) scopes.push_back({v, v + 3});
    if (v % 12 == 1) scopes.push_back({v, v + 1, v + 3});
    if (v % 12 == 6) scopes.push_back({0, v});
    if (v == 7) scopes.push_back({v, v + 1, v + 2, v + 3});
  }
  MinSum problem{.domains = {domains[0]}, .tables = {}, .terms = {}};
  for (int i = 0; i < layers; ++i) problem.domains.insert(problem.domains.end(), domains.begin() + 1, domains.end());
  for (const std::vector<int>& scope : scopes) {
    std::vector<int> sizes;
    for (const int v : scope) sizes.push_back(domains[static_cast<size_t>(v > kLayer ? v - kLayer : v)]);
    problem.tables.push_back(RandomTable(sizes, options, random));
  }
  for (int layer = 0; layer < layers; ++layer) {
    for (size_t t = 0; t < scopes.size(); ++t) {
      CostTerm term{.scope = scopes[t], .table = static_cast<int>(t)};
      for (int& v : term.scope) v += v > 0 ? layer * kLayer : 0;
      if (term.scope.back() <= layers * kLayer) problem.terms.push_back(term);
    }
  }
  return problem;
}

Solution BruteForce(const MinSum& problem) {
  std::vector<int> values(problem.domains.size(), 0);
  Solution best{.values = values, .cost = CostOf(problem, values)};
  while (Advance(problem, values)) {
    const int64_t cost = CostOf(problem, values);
    if (cost < best.cost) best = {.values = values, .cost = cost};
  }
  best.lower_bound = best.cost;
  return best;
}

std::string ToString(const MinSum& problem) {
  std::string text = absl::StrCat("domains ", absl::StrJoin(problem.domains, " "), "\n");
  for (const CostTerm& term : problem.terms) {
    absl::StrAppend(&text, "term over {", absl::StrJoin(term.scope, " "),
                    "}: ", absl::StrJoin(problem.tables[static_cast<size_t>(term.table)].costs, " "), "\n");
  }
  return text;
}

}  // namespace cleave::search
