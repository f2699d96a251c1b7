// The worked example of docs/search.md: two dense layers on 2 x 2 devices, with the tables of a step of the search, the
// elimination and the plan. The page has what this prints.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ir/testing/page.h"
#include "search/model/cluster/cluster.h"
#include "search/search.h"
#include "search/solve/minsum/minsum.h"
#include "search/solve/network/network.h"
#include "search/solve/sapp/choices.h"
#include "search/solve/sapp/freedom.h"
#include "search/solve/sapp/moves.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// Costs by a choice for each variable of a scope.
using Scope = std::vector<int>;
using Sum = std::map<std::vector<int>, int64_t>;

// All choices of the variables of a scope, the last one fastest.
std::vector<std::vector<int>> ChoicesOf(const Scope& scope, const std::vector<int>& domains) {
  std::vector<std::vector<int>> all = {{}};
  for (const int variable : scope) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& choice : all) {
      for (int value = 0; value < domains[static_cast<size_t>(variable)]; ++value) {
        longer.push_back(choice);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

// The terms of the problem, those over the same variables added up.
std::map<Scope, Sum> SumsOf(const MinSum& problem) {
  std::map<Scope, Sum> sums;
  for (const CostTerm& term : problem.terms) {
    const std::vector<int64_t>& costs = problem.tables[static_cast<size_t>(term.table)].costs;
    Sum& sum = sums[term.scope];
    size_t entry = 0;
    for (const std::vector<int>& choice : ChoicesOf(term.scope, problem.domains)) sum[choice] += costs[entry++];
  }
  return sums;
}

std::vector<int> Picked(const Scope& part, const Scope& scope, const std::vector<int>& choice) {
  std::vector<int> picked;
  for (const int variable : part) {
    picked.push_back(choice[static_cast<size_t>(std::find(scope.begin(), scope.end(), variable) - scope.begin())]);
  }
  return picked;
}

class WorkedExample {
 public:
  WorkedExample()
      : graph_(testing::Mlp(64, {64, 128, 32})),
        facts_(FactsOf(graph_)),
        mesh_(MeshOfCluster(CpuCluster(4))),
        assignment_(facts_, mesh_, options_, demands_),
        network_(assignment_.table(), demands_, options_, {}),
        moves_(assignment_.table(), network_, Freedom::Whole(assignment_.table())) {}

  std::string Text() {
    std::string text = "```\n";
    const ir::AxisList axes = mesh_.AxisIds();
    for (const ir::AxisId axis : axes) Step(axis, /*shows=*/axis == axes.front(), text);
    absl::StrAppend(&text, "\nthe plan\n");
    for (const ir::OpId op : network_.variables()) {
      const ir::Strategy& strategy = assignment_.strategy(op);
      std::vector<std::string> cuts;
      for (size_t f = 0; f < strategy.cuts.size(); ++f) {
        if (strategy.cuts[f].empty()) continue;
        const std::string names = absl::StrJoin(strategy.cuts[f], " ", [&](std::string* out, ir::AxisId axis) {
          absl::StrAppend(out, mesh_.axis(axis).name);
        });
        cuts.push_back(absl::StrCat(facts_.rule(op).factors[f].name, " by ", names));
      }
      absl::StrAppend(
          &text, absl::StrFormat("  %-10s%s\n", graph_.op(op).name, cuts.empty() ? "-" : absl::StrJoin(cuts, ", ")));
    }
    return absl::StrCat(text, "```\n");
  }

  double price() const { return assignment_.cost().price; }
  const ir::Graph& graph() const { return graph_; }
  const AssignmentOptions& options() const { return options_; }

 private:
  int64_t BytesOf(int64_t cost) const { return std::llround(static_cast<double>(cost) * network_.unit()); }

  const std::string& NameOf(int variable) const {
    return graph_.op(network_.variables()[static_cast<size_t>(variable)]).name;
  }
  std::string NamesOf(const Scope& scope) const {
    return absl::StrJoin(scope, ", ", [&](std::string* out, int variable) { out->append(NameOf(variable)); });
  }

  // The factor on which an op has the axis, "-" for none.
  std::string FactorOf(int variable, int value, const Domains& domains, ir::AxisId axis) {
    const ir::OpId op = network_.variables()[static_cast<size_t>(variable)];
    const int number = network_.domain(domains[static_cast<size_t>(variable)])[static_cast<size_t>(value)];
    const int factor = FactorCutBy(assignment_.table().strategy(op, number), axis);
    return factor < 0 ? "-" : facts_.rule(op).factors[static_cast<size_t>(factor)].name;
  }

  // Decides the axis for all ops at once.
  void Step(ir::AxisId axis, bool shows, std::string& text) {
    Domains domains;
    for (const ir::OpId op : network_.variables()) domains.push_back(moves_.Axis(op, assignment_.index(op), axis));
    const MinSum problem = network_.Problem(domains);
    const std::optional<Solution> solution = Eliminate(problem, {.entries = 1 << 20, .total = 1 << 24});
    ASSERT_TRUE(solution.has_value());
    std::map<Scope, Sum> sums = SumsOf(problem);
    absl::StrAppend(&text, shows ? "" : "\n", "step ", mesh_.axis(axis).name, "\n");
    if (shows) {
      for (const auto& [scope, sum] : sums) {
        const bool is_free =
            std::all_of(sum.begin(), sum.end(), [&](const auto& own) { return BytesOf(own.second) == 0; });
        if (!is_free) AppendTable(scope, sum, problem.domains, domains, axis, text);
      }
    }
    const int64_t least = LeastByElimination(problem, std::move(sums), shows, text);
    EXPECT_EQ(least, solution->cost);
    EXPECT_EQ(CostOf(problem, solution->values), solution->cost);
    absl::StrAppend(&text, "  least in all: ", BytesOf(least), " bytes, with");
    for (size_t v = 0; v < solution->values.size(); ++v) {
      absl::StrAppend(&text, v > 0 ? "," : "", " ", NameOf(static_cast<int>(v)), " ",
                      FactorOf(static_cast<int>(v), solution->values[v], domains, axis));
    }
    text += "\n";
    assignment_.Apply(network_.Changes(domains, solution->values));
    EXPECT_NEAR(price(), static_cast<double>(BytesOf(least)), 0.5);
  }

  // The last op of the scope across, the others down. `sizes`: of the domains.
  void AppendTable(const Scope& scope, const Sum& sum, const std::vector<int>& sizes, const Domains& domains,
                   ir::AxisId axis, std::string& text) {
    const int across = scope.back();
    const Scope down(scope.begin(), scope.end() - 1);
    const int columns = sizes[static_cast<size_t>(across)];
    const std::string head = down.empty() ? NameOf(across) : absl::StrCat(NamesOf(down), " \\ ", NameOf(across));
    absl::StrAppend(&text, absl::StrFormat("  %-24s", head));
    for (int c = 0; c < columns; ++c)
      absl::StrAppend(&text, absl::StrFormat("%8s", FactorOf(across, c, domains, axis)));
    text += "\n";
    for (std::vector<int> choice : ChoicesOf(down, sizes)) {
      std::vector<std::string> factors;
      for (size_t i = 0; i < down.size(); ++i) factors.push_back(FactorOf(down[i], choice[i], domains, axis));
      absl::StrAppend(&text, absl::StrFormat("  %24s", absl::StrJoin(factors, ", ")));
      choice.push_back(0);
      for (choice.back() = 0; choice.back() < columns; ++choice.back()) {
        absl::StrAppend(&text, absl::StrFormat("%8d", BytesOf(sum.at(choice))));
      }
      text += "\n";
    }
  }

  // Variables leave one after another, each with the sum of the tables that it is in, of which the least entry stays
  // for each choice of the others.
  int64_t LeastByElimination(const MinSum& problem, std::map<Scope, Sum> sums, bool shows, std::string& text) const {
    for (int variable = 0; variable < static_cast<int>(problem.domains.size()); ++variable) {
      std::vector<std::pair<Scope, Sum>> bucket;
      std::set<int> joined;
      for (auto own = sums.begin(); own != sums.end();) {
        const bool is_in = std::find(own->first.begin(), own->first.end(), variable) != own->first.end();
        if (!is_in) {
          ++own;
          continue;
        }
        joined.insert(own->first.begin(), own->first.end());
        bucket.emplace_back(own->first, own->second);
        own = sums.erase(own);
      }
      joined.erase(variable);
      const Scope rest(joined.begin(), joined.end());
      Scope all = rest;
      all.push_back(variable);
      Sum best;
      for (const std::vector<int>& choice : ChoicesOf(all, problem.domains)) {
        int64_t cost = 0;
        for (const auto& [scope, sum] : bucket) cost += sum.at(Picked(scope, all, choice));
        const auto [place, is_first] = best.emplace(Picked(rest, all, choice), cost);
        if (!is_first) place->second = std::min(place->second, cost);
      }
      if (shows) {
        const auto [low, high] = std::minmax_element(best.begin(), best.end(),
                                                     [](const auto& a, const auto& b) { return a.second < b.second; });
        absl::StrAppend(&text, "  without ", NameOf(variable), ": ",
                        rest.empty() ? "one number" : absl::StrCat(best.size(), " entries over ", NamesOf(rest)), ", ",
                        BytesOf(low->second), rest.empty() ? "" : absl::StrCat(" to ", BytesOf(high->second)), "\n");
      }
      for (const auto& [choice, cost] : best) sums[rest][choice] += cost;
    }
    return sums.at({}).at({});
  }

  const ir::Graph graph_;
  const GraphFacts facts_;
  const ir::Mesh mesh_;
  const OpDemands demands_;
  const AssignmentOptions options_{.gradient_weight = 1, .dataset = {}};
  Assignment assignment_;
  Network network_;
  Moves moves_;
};

TEST(WorkedExampleTest, ThePageHasIt) {
  ir::CheckPartOfPage("docs/search.md", "<!-- worked example, written by bazel run //:bless -->\n",
                      "<!-- end of the worked example -->\n", WorkedExample().Text());
}

// The search goes further: it decides the axes in another order too, and several at once. Here that finds nothing
// better.
TEST(WorkedExampleTest, TheSearchFindsThisPlan) {
  WorkedExample example;
  example.Text();
  SearchOptions options;
  options.gradient_weight = example.options().gradient_weight;
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan = Search(example.graph(), CpuCluster(4), {}, options, diagnostics);
  ASSERT_TRUE(plan.has_value());
  EXPECT_DOUBLE_EQ(plan->search.cost, example.price());
}

}  // namespace
}  // namespace cleave::search
