// The price of a plan as a sum of terms, each over the few ops on whose strategies it depends.
//
//   Network network(assignment.table(), demands, assignment.options(), {});
//   Domains domains;                                  // per variable a set of strategies that it may take
//   for (OpId op : network.variables()) domains.push_back(network.Domain(op, {…}));
//   const MinSum problem = network.Problem(domains);  // search/solve/minsum finds the best choice
//   assignment.Apply(network.Changes(domains, solution.values));
//
// Variables are the ops that a search sets: forward products and light ops. A term is the price of one value. Its scope
// are the ops that make and read it, with forward ops in place of the backward ops that inherit from them, and leaders
// in place of their parameters. Equal layers have equal terms, whose table is computed once. The sum of all terms is
// Assignment::cost() (network_test), in integer units of `unit()`.
//
// A folded network has one variable for a class of ops that are decided together (folding.h); equal terms over the same
// variables are one term with the sum of their tables.
//
// A value that very many ops read (an input of every layer) would need a table over all of them. If a table would have
// more than `Options::entries`, the term is split: each reader is priced alone, at its share of the cost. The problem's
// cost then only approximates the price (`is_exact()` is false), and a search compares Assignment::cost() before it
// takes a solution.
#ifndef CLEAVE_SEARCH_SOLVE_NETWORK_NETWORK_H_
#define CLEAVE_SEARCH_SOLVE_NETWORK_NETWORK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/assignment/strategy_table.h"
#include "search/solve/minsum/minsum.h"
#include "search/solve/network/renamings.h"
#include "search/solve/network/terms.h"

namespace cleave::search {

// `table` with all costs times `times`.
CostTable Multiple(const CostTable& table, int64_t times);

// Per variable the number of a domain.
using Domains = std::vector<int>;

class Network {
 public:
  enum class LargeTerms {
    kSplit,  // Priced reader by reader: approximate, for a search.
    kBound,  // The same without parts that may overestimate: a lower bound.
  };
  struct Options {
    std::optional<int64_t> entries = std::nullopt;  // nullopt: that of `assignment.tuning`.
    LargeTerms large_terms = LargeTerms::kSplit;
    bool breaks_ties = true;                        // Adds kCollective and kIdleAxis; not for a bound.
    std::optional<Folding> folding = std::nullopt;  // nullopt: each op has its own variable.
  };

  // `table` outlives the network.
  Network(StrategyTable& table, const OpDemands& demands, const AssignmentOptions& assignment, Options options);

  // One op for each variable: the first of its class.
  const std::vector<ir::OpId>& variables() const { return terms_.variables; }
  // The op's variable; -1 for an op that has none.
  int variable(ir::OpId op) const { return terms_.variable_of[op]; }
  // Whether a demand fixes the variable, so that its domain has one strategy.
  bool fixed(int variable) const { return terms_.fixed[static_cast<size_t>(variable)]; }

  // Interns a domain of `op`: a nonempty set of strategies, by their numbers in the table.
  int Domain(ir::OpId op, const std::vector<int>& strategies);
  const std::vector<int>& domain(int number) const { return domains_[static_cast<size_t>(number)].strategies; }

  // The price of all choices from `domains`, of which there is one for each variable.
  MinSum Problem(const Domains& domains);

  // A problem over subsets of the domains.
  struct Narrow {
    Domains domains;
    MinSum problem;
  };
  // Problem() without strategies that no plan cheaper than `below` has, most of which are pruned before their prices
  // are computed. nullopt where there is no such plan.
  std::optional<Narrow> ProblemBelow(const Domains& domains, int64_t below);
  // The entries of all tables of Problem(domains), equal tables once, without split terms; at most `most`.
  int64_t Entries(const Domains& domains, int64_t most) const;
  // Whether the last problem had no split term.
  bool is_exact() const { return is_exact_; }

  // The strategies of all ops under the choice `values`.
  std::vector<IndexedChange> Changes(const Domains& domains, const std::vector<int>& values) const;

  // The price of one unit of a problem's costs. To break ties between plans of equal price, each collective adds
  // kCollective units and each axis that an op leaves idle kIdleAxis; where products may leave axes idle, each axis
  // that is used, because what is not priced takes time too.
  double unit() const { return unit_; }
  static constexpr int64_t kCollective = 1 << 10;
  static constexpr int64_t kIdleAxis = 1;

 private:
  class Narrowing;

  struct DomainEntry {
    ir::OpId op;  // One of those it belongs to.
    std::vector<int> strategies;
    std::optional<RenamedValues> renamed = std::nullopt;  // Set at the first use.
  };

  // Prices::local of an op under a strategy, and the units that break ties.
  struct OwnCost {
    double price = 0;
    int64_t units = 0;
  };

  // The index into tables_ of the term's table, which is made once.
  int TableOf(const TermKind& kind, const Domains& own);
  // Per variable of a term and value, its summand in the index of a choice.
  using Strides = std::vector<std::vector<size_t>>;
  // Per renaming of axes, the strides of the renamed choice.
  std::vector<Strides> StridesOfRenamed(const TermKind& kind, const Domains& own);
  const RenamedValues& RenamedOf(int domain);
  // The term; its parts if its table over domains of these sizes would be too large.
  std::vector<const Term*> PartsOf(const Term& term, const std::vector<int>& sizes);
  std::vector<int> SizesOf(const Domains& domains) const;
  std::vector<OwnCost> OwnCosts(const TermKind& kind, const std::vector<int>& numbers);
  Cost CostOfInner(const TermKind& kind, const std::vector<int>& numbers);
  int64_t Units(const Cost& cost) const;

  StrategyTable& table_;
  const Renamings renamings_;
  Options options_;
  Terms terms_;
  double gradient_weight_;
  int64_t entries_;
  double unit_ = 1;
  bool is_exact_ = true;
  std::vector<DomainEntry> domains_;
  absl::flat_hash_map<std::pair<int, std::vector<int>>, int> domain_index_;  // (rule, strategies).
  absl::flat_hash_map<std::vector<int>, int> table_index_;  // (domains, term kind) -> index into tables_.
  std::vector<CostTable> tables_;
  absl::flat_hash_map<std::pair<int, int>, CostTable> own_tables_;           // (term kind, domain): OwnCosts.
  absl::flat_hash_map<std::pair<int, std::vector<int>>, Cost> inner_costs_;  // (inner kind, strategies of the group).
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_NETWORK_NETWORK_H_
