// Reading guide for ProblemBelow(). First OwnCosts give bounds (Expect), without prices of redistributions. Then the
// tables of the terms are made, small ones first, each over the strategies that are left, and strategies that are too
// expensive are pruned (search/solve/minsum/pruning.h). At the end all tables are reduced to the strategies that are
// left.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "search/solve/minsum/pruning.h"
#include "search/solve/network/columns.h"
#include "search/solve/network/network.h"

namespace cleave::search {

class Network::Narrowing {
 public:
  Narrowing(Network& network, const Domains& domains, int64_t below)
      : network_(network), domains_(domains), sizes_(network.SizesOf(domains)), pruning_(sizes_, below) {}

  std::optional<Narrow> Run() {
    network_.is_exact_ = true;
    const std::vector<Term>& terms = network_.terms_.terms;
    for (const Term& term : terms) expected_.push_back(Expect(term));
    for (const size_t number : TermsBySize()) {
      for (const int variable : terms[number].scope) {
        if (!Prune(variable)) return std::nullopt;
      }
      for (const Term* part : network_.PartsOf(terms[number], sizes_)) Make(number, *part);
    }
    for (size_t v = 0; v < domains_.size(); ++v) {
      if (!Prune(static_cast<int>(v))) return std::nullopt;
    }
    return Result();
  }

 private:
  // A table that was made, over domains that were narrowed by then.
  struct Made {
    size_t term = 0;
    const Term* part = nullptr;
    Domains domains;
    int table = 0;
  };

  const TermKind& KindOf(const Term& term) const { return network_.terms_.kinds[static_cast<size_t>(term.kind)]; }

  // Returns whether a strategy is left.
  bool Prune(int variable) {
    const bool is_possible = pruning_.Prune(variable);
    sizes_[static_cast<size_t>(variable)] = static_cast<int>(pruning_.Left(variable).size());
    return is_possible;
  }

  // OwnCosts of a value's op, if a single variable decides it.
  std::optional<Pruning::Expected> Expect(const Term& term) {
    const TermKind& kind = KindOf(term);
    const std::optional<int> local = kind.local ? OnlyVariableOf(kind) : std::nullopt;
    if (!local.has_value()) return std::nullopt;
    const int variable = term.scope[static_cast<size_t>(*local)];
    const int number = domains_[static_cast<size_t>(variable)];
    CostTable& costs = network_.own_tables_[{kind.id, number}];
    if (costs.costs.empty()) costs = OwnTable(kind, *local, network_.domain(number));
    return pruning_.Expect(variable, Multiple(costs, term.count).costs);
  }

  CostTable OwnTable(const TermKind& kind, int local, const std::vector<int>& domain) {
    const std::vector<int> none;
    std::vector<const std::vector<int>*> domains(static_cast<size_t>(kind.variables), &none);
    domains[static_cast<size_t>(local)] = &domain;
    const Columns columns(network_.table_, kind, domains, static_cast<size_t>(kind.made) + 1);
    CostTable costs{.sizes = {static_cast<int>(domain.size())}, .costs = {}};
    for (const OwnCost& own : network_.OwnCosts(kind, columns.numbers(kind.made))) {
      costs.costs.push_back(std::min(network_.Units({.price = own.price}) + own.units, kForbidden));
    }
    return costs;
  }

  // The local variable on which alone the strategy of the value's op depends. The formulas before it are its inputs.
  static std::optional<int> OnlyVariableOf(const TermKind& kind) {
    std::optional<int> only;
    for (int i = 0; i <= kind.made; ++i) {
      const StrategyFormula& formula = kind.formulas[static_cast<size_t>(i)];
      if (formula.kind != StrategyFormula::Kind::kVariable || only == formula.number) continue;
      if (only.has_value()) return std::nullopt;
      only = formula.number;
    }
    return only;
  }

  // Indices of the terms, those with small tables first.
  std::vector<size_t> TermsBySize() const {
    std::vector<double> entries;
    for (const Term& term : network_.terms_.terms) {
      double own = 1;
      for (int variable : term.scope) own *= sizes_[static_cast<size_t>(variable)];
      entries.push_back(own);
    }
    std::vector<size_t> order(entries.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return entries[a] < entries[b]; });
    return order;
  }

  // REQUIRES: the variables of the part are pruned.
  void Make(size_t number, const Term& part) {
    const Term& term = network_.terms_.terms[number];
    Made made{.term = number, .part = &part, .domains = LeftOf(part), .table = 0};
    made.table = network_.TableOf(KindOf(part), made.domains);
    if (part.never_more) {
      std::optional<Pruning::Expected>& expected = expected_[number];
      if (KindOf(part).local && expected.has_value()) pruning_.Forget(*std::exchange(expected, std::nullopt));
      pruning_.Add(part.scope, network_.tables_[static_cast<size_t>(made.table)], term.count);
    }
    made_.push_back(std::move(made));
  }

  Domains LeftOf(const Term& part) {
    Domains left;
    for (int variable : part.scope) left.push_back(LeftOf(variable));
    return left;
  }
  int LeftOf(int variable) {
    const int number = domains_[static_cast<size_t>(variable)];
    const std::vector<int>& strategies = network_.domain(number);
    const std::vector<int>& values = pruning_.Left(variable);
    if (values.size() == strategies.size()) return number;
    std::vector<int> left;
    for (int value : values) left.push_back(strategies[static_cast<size_t>(value)]);
    return network_.Domain(network_.terms_.variables[static_cast<size_t>(variable)], left);
  }

  Narrow Result() {
    Narrow narrow{.domains = {}, .problem = {.domains = sizes_, .tables = {}, .terms = {}}};
    for (size_t v = 0; v < domains_.size(); ++v) narrow.domains.push_back(LeftOf(static_cast<int>(v)));
    std::stable_sort(made_.begin(), made_.end(), [](const Made& a, const Made& b) { return a.term < b.term; });
    std::map<std::tuple<int, int, Domains>, int> index;  // (table made, times it occurs, domains) -> the new table.
    std::vector<CostTable>& tables = narrow.problem.tables;
    for (const Made& made : made_) {
      const Domains own = LeftOf(*made.part);
      const int times = network_.terms_.terms[made.term].count;
      const auto [found, is_new] = index.emplace(std::tuple(made.table, times, own), static_cast<int>(tables.size()));
      if (is_new) {
        tables.push_back(Multiple(Cut(network_.tables_[static_cast<size_t>(made.table)], made.domains, own), times));
      }
      narrow.problem.terms.push_back({.scope = made.part->scope, .table = found->second});
    }
    return narrow;
  }

  // A table over `from` without the strategies that `to` does not have.
  CostTable Cut(const CostTable& table, const Domains& from, const Domains& to) const {
    if (from == to) return table;
    std::vector<std::vector<size_t>> offsets(to.size());  // In `table`, per variable and value that is left.
    size_t stride = 1;
    for (size_t v = to.size(); v-- > 0;) {
      const std::vector<int>& all = network_.domain(from[v]);
      auto place = all.begin();
      for (int strategy : network_.domain(to[v])) {
        place = std::find(place, all.end(), strategy);
        offsets[v].push_back(static_cast<size_t>(place - all.begin()) * stride);
      }
      stride *= all.size();
    }
    CostTable result{.sizes = network_.SizesOf(to), .costs = {}};
    Odometer odometer(result.sizes);
    do {
      size_t place = 0;
      for (size_t v = 0; v < to.size(); ++v) place += offsets[v][static_cast<size_t>(odometer.digits()[v])];
      result.costs.push_back(table.costs[place]);
    } while (odometer.Next());
    return result;
  }

  Network& network_;
  const Domains& domains_;
  std::vector<int> sizes_;  // Per variable the number of strategies that are left.
  Pruning pruning_;
  std::vector<std::optional<Pruning::Expected>> expected_;  // Per term, until its table is made.
  std::vector<Made> made_;
};

std::optional<Network::Narrow> Network::ProblemBelow(const Domains& domains, int64_t below) {
  return Narrowing(*this, domains, below).Run();
}

CostTable Multiple(const CostTable& table, int64_t times) {
  CostTable result = table;
  for (int64_t& cost : result.costs) cost = cost >= kForbidden / times ? kForbidden : cost * times;
  return result;
}

}  // namespace cleave::search
