// Reading guide: FindBest tries SolveWhole, elimination over all strategies, then SolveRelaxed: elimination over counts
// of axes (CanonicalStrategies, relaxed.h) for a bound, and a descent from its best choice.
#include "search/solve/exact/exact.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "search/model/facts/cuts.h"
#include "search/solve/exact/relaxed.h"
#include "search/solve/minsum/minsum.h"
#include "search/solve/network/network.h"
#include "search/solve/sapp/choices.h"
#include "search/solve/sapp/descent.h"
#include "search/solve/sapp/moves.h"

namespace cleave::search {
namespace {

// The mesh axes of `own` that are among `axes`.
size_t CountIn(const AxisClass& own, const ir::AxisList& axes) {
  return static_cast<size_t>(std::count_if(own.axes.begin(), own.axes.end(), [&](ir::AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  }));
}

// Makes the strategies of one op that differ in counts of axes, which are assigned in the order of the mesh. The op
// uses at most the open axes of a class, and at least the required ones.
class CanonicalStrategies {
 public:
  CanonicalStrategies(StrategyTable& table, const std::vector<AxisClass>& classes, ir::OpId op, const OpFreedom& own)
      : table_(table), classes_(classes), op_(op), own_(own), rule_(table.facts().rule(op)), mesh_(table.mesh()) {}

  std::vector<int> Numbers() const {
    std::vector<ir::Strategy> reached = {ir::Strategy::Replicated(rule_)};
    for (const AxisClass& own : classes_) {
      const ir::AxisList open(own.axes.begin(),
                              own.axes.begin() + static_cast<std::ptrdiff_t>(CountIn(own, own_.open)));
      for (size_t axis = 0; axis < open.size(); ++axis) reached = WithAxis(reached, open, axis);
    }
    std::vector<int> numbers;
    for (const ir::Strategy& strategy : reached) {
      if (!ir::VerifyStrategy(strategy, rule_, mesh_).ok() || LeavesRequired(strategy)) continue;
      if (!own_.factors.empty() && TakesOtherFactors(strategy)) continue;
      numbers.push_back(table_.Intern(op_, strategy));
    }
    return numbers;
  }

 private:
  // Places one axis after another, each on the same factor as the one before or on a later one, so that every count
  // arises once.
  std::vector<ir::Strategy> WithAxis(const std::vector<ir::Strategy>& reached, const ir::AxisList& open,
                                     size_t axis) const {
    std::vector<ir::Strategy> next;
    for (const ir::Strategy& strategy : reached) {
      int first = 0;
      for (size_t earlier = 0; earlier < axis; ++earlier) {
        const int factor = FactorCutBy(strategy, open[earlier]);
        first = factor < 0 ? static_cast<int>(rule_.factors.size()) : std::max(first, factor);
      }
      next.push_back(strategy);
      for (size_t f = static_cast<size_t>(first); f < rule_.factors.size(); ++f) {
        if (rule_.factors[f].kind == ir::FactorKind::kWhole) continue;
        const int64_t pieces = mesh_.Size(strategy.cuts[f]) * mesh_.axis(open[axis]).size;
        if (pieces > MostPieces(rule_, static_cast<int>(f))) continue;
        next.push_back(strategy);
        next.back().cuts[f].push_back(open[axis]);
      }
    }
    return next;
  }

  // Whether fewer axes of a class are used than required, though a factor has elements for one more.
  bool LeavesRequired(const ir::Strategy& strategy) const {
    return std::any_of(classes_.begin(), classes_.end(), [&](const AxisClass& own) {
      ir::AxisList first(own.axes.begin(), own.axes.begin() + static_cast<std::ptrdiff_t>(CountIn(own, own_.required)));
      return !UsesAxes(strategy, rule_, mesh_, first);
    });
  }

  // Whether an axis cuts a factor that no axis of its class may cut, while one that may be cut has elements for it.
  // Classes with an axis that is not required are not checked: there the bound may be too low, never too high.
  bool TakesOtherFactors(const ir::Strategy& strategy) const {
    OpFreedom relaxed{.open = own_.open, .required = {}, .factors = {}};
    for (const AxisClass& own : classes_) {
      if (CountIn(own, own_.required) < own.axes.size()) continue;
      std::vector<int> allowed;  // By any axis of the class; empty: all.
      bool is_any = false;
      for (size_t i = 0; i < own_.required.size(); ++i) {
        if (std::find(own.axes.begin(), own.axes.end(), own_.required[i]) == own.axes.end()) continue;
        is_any = is_any || own_.factors[i].empty();
        allowed.insert(allowed.end(), own_.factors[i].begin(), own_.factors[i].end());
      }
      for (ir::AxisId axis : own.axes) {
        relaxed.required.push_back(axis);
        relaxed.factors.push_back(is_any ? std::vector<int>() : allowed);
      }
    }
    return !Freedom::HasFactors(relaxed, strategy, rule_, mesh_);
  }

  StrategyTable& table_;
  const std::vector<AxisClass>& classes_;
  const ir::OpId op_;
  const OpFreedom& own_;
  const ir::Rule& rule_;
  const ir::Mesh& mesh_;
};

Domains FixedOr(Network& network, const Assignment& assignment, StrategyTable& table,
                const std::function<int(ir::OpId)>& domain_of) {
  Domains domains;
  for (size_t v = 0; v < network.variables().size(); ++v) {
    const ir::OpId op = network.variables()[v];
    domains.push_back(network.fixed(static_cast<int>(v))
                          ? network.Domain(op, {table.Intern(op, assignment.strategy(op))})
                          : domain_of(op));
  }
  return domains;
}

// An upper bound of the number of strategies of an op of `rule`: each of `axes` axes at each position in each factor,
// or idle.
double MostStrategies(const ir::Rule& rule, size_t axes) {
  const auto factors = std::count_if(rule.factors.begin(), rule.factors.end(),
                                     [](const ir::Factor& factor) { return factor.kind != ir::FactorKind::kWhole; });
  double count = 1;
  for (size_t axis = 0; axis < axes; ++axis) count *= static_cast<double>(factors) + 1 + static_cast<double>(axis);
  return count;
}

// The best plan over all strategies, if tables of that size can be made; sets `assignment` to it. Returns whether it
// is proven to be the best.
bool SolveWhole(Assignment& assignment, const Freedom& freedom) {
  const SearchTuning& tuning = assignment.options().tuning;
  const GraphFacts& facts = assignment.facts();
  for (ir::OpId op : facts.set_ops) {
    if (MostStrategies(facts.rule(op), freedom.of(op).open.size()) > tuning.exact_strategies) return false;
  }
  assignment.table().prices().set_effort(ir::RedistributionEffort::kFull);
  Network network(assignment.table(), assignment.demands(), assignment.options(),
                  {.entries = tuning.exact_entries, .large_terms = Network::LargeTerms::kBound});
  Moves moves(assignment.table(), network, freedom);
  const Domains domains = FixedOr(network, assignment, assignment.table(),
                                  [&](ir::OpId op) { return moves.All(op, assignment.index(op)); });
  if (network.Entries(domains, tuning.exact_entries) >= tuning.exact_entries) return false;
  const std::optional<Solution> solution = Eliminate(network.Problem(domains), tuning.exact_tables);
  if (!solution.has_value() || solution->lower_bound < solution->cost || !network.is_exact()) return false;
  assignment.Apply(network.Changes(domains, solution->values));
  return true;
}

// Makes a plan from the best counts, refines it, and sets `assignment` to it if it is cheaper. Returns the bound;
// nullopt where there are too many counts.
std::optional<double> SolveRelaxed(Assignment& assignment, const Freedom& freedom) {
  const SearchTuning& tuning = assignment.options().tuning;
  const ir::Mesh& mesh = assignment.mesh();
  RelaxedPrices prices(mesh);
  for (const ir::Op& op : assignment.facts().graph->ops) {
    if (prices.StateCount(op.type.rank()) > tuning.relaxed_counts) return std::nullopt;
  }
  const auto without_windows = [](ir::Layout layout, bool whole) {
    for (const auto& window : layout.windows) {
      if (whole) layout.dimensions[static_cast<size_t>(window.dimension)].clear();
    }
    layout.windows.clear();
    return layout;
  };
  const LayoutRelaxation relaxation{
      .representative = [&](const ir::Layout& layout) { return CanonicalLayout(prices.classes(), layout); },
      .price = [&](const ir::TensorType& type, const ir::Layout& source,
                   const ir::Layout& target) -> std::optional<Cost> {
        double least = prices.AtLeast(without_windows(source, false), without_windows(target, false));
        if (!target.windows.empty()) {
          least = std::min(least, prices.AtLeast(without_windows(source, false),
                                                 CanonicalLayout(prices.classes(), without_windows(target, true))));
        }
        if (least == std::numeric_limits<double>::infinity()) return std::nullopt;
        return Cost{.price = least * static_cast<double>(type.bytes().value()), .collectives = 0, .impossible = 0};
      }};
  StrategyTable table(assignment.facts(), mesh, relaxation);
  Network network(
      table, assignment.demands(), assignment.options(),
      {.entries = tuning.relaxed_term_entries, .large_terms = Network::LargeTerms::kBound, .breaks_ties = false});
  const Domains domains = FixedOr(network, assignment, table, [&](ir::OpId op) {
    return network.Domain(op, CanonicalStrategies(table, prices.classes(), op, freedom.of(op)).Numbers());
  });
  if (network.Entries(domains, tuning.relaxed_entries) >= tuning.relaxed_entries) return std::nullopt;
  const Solution solution = EliminateInParts(network.Problem(domains), {.entries = tuning.part_entries});
  const int mark = assignment.mark();
  const Cost before = assignment.cost();
  std::vector<Change> changes;
  for (const IndexedChange& change : network.Changes(domains, solution.values)) {
    changes.push_back({change.op, table.strategy(change.op, change.strategy)});
  }
  assignment.Apply(changes);
  Network whole(assignment.table(), assignment.demands(), assignment.options(), {});
  Descent descent(assignment, whole, freedom, tuning.work);
  descent.Refine();
  assignment.Apply(descent.Changes());
  if (!Cheaper(assignment.cost(), before)) assignment.Rollback(mark);
  return static_cast<double>(solution.lower_bound) * network.unit();
}

}  // namespace

ExactResult FindBest(Assignment& assignment, const Freedom& freedom) {
  if (SolveWhole(assignment, freedom)) {
    const double cost = assignment.cost().price;
    return {.cost = cost, .lower_bound = cost, .is_proven = true};
  }
  const bool is_bytes = !assignment.options().prices.is_seconds;
  const std::optional<double> bound = is_bytes ? SolveRelaxed(assignment, freedom) : std::nullopt;
  const double cost = assignment.cost().price;
  if (!bound.has_value()) return {.cost = cost, .lower_bound = std::nullopt, .is_proven = false};
  const bool is_proven = cost <= *bound * (1 + 1e-9);
  return {.cost = cost, .lower_bound = is_proven ? cost : *bound, .is_proven = is_proven};
}

}  // namespace cleave::search
