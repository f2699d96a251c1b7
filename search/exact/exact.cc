#include "search/exact/exact.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "search/exact/relaxed.h"
#include "search/minsum/minsum.h"
#include "search/network/network.h"
#include "search/sapp/choices.h"
#include "search/sapp/descent.h"
#include "search/sapp/moves.h"
#include "search/sapp/sapp.h"

namespace cleave::search {
namespace {

// The strategies of `op` that differ in counts of axes; axes are assigned in the order of the mesh.
std::vector<int> CanonicalStrategies(StrategyTable& table, const std::vector<AxisClass>& classes, ir::OpId op) {
  const ir::Rule& rule = table.facts().rule(op);
  const ir::Mesh& mesh = table.mesh();
  std::vector<ir::Strategy> reached = {ir::Strategy::Replicated(rule)};
  for (const AxisClass& own : classes) {
    // Places one axis after another, each on the same factor as the one before or on a later one, so that every count
    // arises once.
    for (const ir::AxisId axis : own.axes) {
      std::vector<ir::Strategy> next;
      for (const ir::Strategy& strategy : reached) {
        int first = 0;
        for (ir::AxisId earlier : own.axes) {
          if (earlier == axis) break;
          const int factor = FactorCutBy(strategy, earlier);
          first = factor < 0 ? static_cast<int>(rule.factors.size()) : std::max(first, factor);
        }
        next.push_back(strategy);
        for (size_t f = static_cast<size_t>(first); f < rule.factors.size(); ++f) {
          if (rule.factors[f].kind == ir::FactorKind::kWhole) continue;
          if (mesh.Size(strategy.cuts[f]) * own.size > rule.factors[f].size) continue;
          next.push_back(strategy);
          next.back().cuts[f].push_back(axis);
        }
      }
      reached = std::move(next);
    }
  }
  std::vector<int> numbers;
  for (const ir::Strategy& strategy : reached) {
    if (!ir::VerifyStrategy(strategy, rule, mesh).ok()) continue;
    if (table.facts().roles[op] == Role::kProduct && !UsesAllAxes(strategy, rule, mesh)) continue;
    numbers.push_back(table.Intern(op, strategy));
  }
  return numbers;
}

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

// The most strategies that `op` could have: each axis at each place of each factor, or idle.
double MostStrategies(const ir::Rule& rule, const ir::Mesh& mesh) {
  const auto factors = std::count_if(rule.factors.begin(), rule.factors.end(),
                                     [](const ir::Factor& factor) { return factor.kind != ir::FactorKind::kWhole; });
  double count = 1;
  for (int axis = 0; axis < mesh.axis_count(); ++axis) count *= static_cast<double>(factors) + 1 + axis;
  return count;
}

// The best plan over all strategies, if tables of that size can be made; sets `assignment` to it. Returns whether it
// is proven to be the best.
bool SolveWhole(Assignment& assignment) {
  const SearchTuning& tuning = assignment.options().tuning;
  const GraphFacts& facts = assignment.facts();
  for (ir::OpId op : facts.set_ops) {
    if (MostStrategies(facts.rule(op), assignment.mesh()) > tuning.exact_strategies) return false;
  }
  assignment.table().prices().set_effort(ir::RedistributionEffort::kFull);
  Network network(assignment.table(), assignment.demands(), assignment.options(),
                  {.entries = tuning.exact_entries, .large_terms = Network::LargeTerms::kBound});
  Moves moves(assignment.table(), network);
  const Domains domains = FixedOr(network, assignment, assignment.table(),
                                  [&](ir::OpId op) { return moves.All(op, assignment.index(op)); });
  const int64_t entries = network.Entries(domains, tuning.exact_entries);
  if (entries >= tuning.exact_entries) return false;
  const MinSum problem = network.Problem(domains);
  std::optional<Solution> solution = Eliminate(problem, tuning.exact_tables);
  if (!solution.has_value() && entries <= tuning.program_entries) {
    const Solution parts = EliminateInParts(problem, {.entries = tuning.part_entries});
    solution = SolveIlp(problem, {.nodes = tuning.program_nodes, .start = parts.values});
  }
  if (!solution.has_value() || solution->lower_bound < solution->cost || !network.is_exact()) return false;
  assignment.Apply(network.Changes(domains, solution->values));
  return true;
}

// Makes a plan from the best counts, refines it, and sets `assignment` to it if it is cheaper. Returns the bound;
// nullopt where there are too many counts.
std::optional<double> SolveRelaxed(Assignment& assignment) {
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
    return network.Domain(op, CanonicalStrategies(table, prices.classes(), op));
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
  Descent descent(assignment, whole, tuning.work);
  descent.Refine();
  assignment.Apply(descent.Changes());
  if (!Cheaper(assignment.cost(), before)) assignment.Rollback(mark);
  return static_cast<double>(solution.lower_bound) * network.unit();
}

}  // namespace

ExactResult FindBest(Assignment& assignment, const Bundles& bundles) {
  Sapp(assignment, bundles);
  if (SolveWhole(assignment)) {
    const double cost = assignment.cost().price;
    return {.cost = cost, .lower_bound = cost, .is_proven = true};
  }
  const std::optional<double> bound = SolveRelaxed(assignment);
  const double cost = assignment.cost().price;
  if (!bound.has_value()) return {.cost = cost, .lower_bound = std::nullopt, .is_proven = false};
  const bool is_proven = cost <= *bound * (1 + 1e-9);
  return {.cost = cost, .lower_bound = is_proven ? cost : *bound, .is_proven = is_proven};
}

}  // namespace cleave::search
