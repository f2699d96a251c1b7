// Reading guide: Problem makes the problem over given domains, with TableOf for each term: for all choices of its
// variables the price of redistributions (ValueMoves), of distributed forms (CostOfInner) and of the op (OwnCosts),
// once for choices that differ only in the names of axes (StridesOfRenamed). ProblemBelow is in narrow.cc.
#include "search/solve/network/network.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "search/price/cost/inner_cost.h"
#include "search/solve/network/columns.h"
#include "search/solve/network/value_moves.h"

namespace cleave::search {
namespace {

// Choices. For fewer, computing all costs is quicker than finding equal ones.
constexpr size_t kManyChoices = 1 << 9;

// Marks a choice whose cost is not computed yet.
constexpr int64_t kUnknown = -1;

// The number of mesh axes that no factor of the strategy uses.
int IdleAxes(const ir::Strategy& strategy, const ir::Mesh& mesh) {
  int idle = mesh.axis_count() - static_cast<int>(strategy.passes.size());
  for (const ir::AxisList& axes : strategy.cuts) idle -= static_cast<int>(axes.size());
  return idle;
}

}  // namespace

Network::Network(StrategyTable& table, const OpDemands& demands, const AssignmentOptions& assignment, Options options)
    : table_(table),
      renamings_(table.mesh()),
      options_(std::move(options)),
      terms_(TermsOf(table, demands, assignment, options_.folding.has_value() ? &*options_.folding : nullptr)),
      gradient_weight_(assignment.gradient_weight),
      entries_(options_.entries.value_or(assignment.tuning.term_entries)) {
  // 2^50 units for the price of sending everything once leave room for plans that send it many times, with twelve
  // digits. The unit is a power of two, so scaling is exact.
  const double scale = table.paid().scale;
  double total = scale > 0 ? scale : 1;
  for (const ir::Op& op : table.facts().graph->ops) {
    const auto times = static_cast<double>(table.facts().times[op.id]);
    if (scale == 0) total += times * static_cast<double>(op.type.bytes().value());
    total += times * table.LocalPrice(op.id, 0);
  }
  total *= std::max(1.0, gradient_weight_);
  unit_ = std::exp2(std::ceil(std::log2(total)) - 50);
}

int64_t Network::Units(const Cost& cost) const {
  if (cost.impossible > 0) return kForbidden;
  return std::llround(cost.price / unit_) + (options_.breaks_ties ? kCollective * cost.collectives : 0);
}

int Network::Domain(ir::OpId op, const std::vector<int>& strategies) {
  const auto [found, is_new] =
      domain_index_.emplace(std::pair(table_.facts().rule_of[op], strategies), static_cast<int>(domains_.size()));
  if (is_new) domains_.push_back({.op = op, .strategies = strategies});
  return found->second;
}

Cost Network::CostOfInner(const TermKind& kind, const std::vector<int>& numbers) {
  const auto [found, is_new] = inner_costs_.emplace(std::pair(kind.inner_kind, numbers), Cost{});
  if (!is_new) return found->second;
  std::vector<ir::OpId> ops;
  std::map<ir::OpId, int> number_of;
  for (size_t i = 0; i < numbers.size(); ++i) {
    ops.push_back(kind.formulas[static_cast<size_t>(kind.inner[i])].op);
    number_of[ops.back()] = numbers[i];
  }
  const auto strategy_of = [&](ir::OpId op) -> const ir::Strategy& { return table_.strategy(op, number_of.at(op)); };
  found->second = InnerCost(table_.facts(), ops, strategy_of, table_.prices());
  return found->second;
}

std::vector<Network::OwnCost> Network::OwnCosts(const TermKind& kind, const std::vector<int>& numbers) {
  const StrategyFormula& made = kind.formulas[static_cast<size_t>(kind.made)];
  const bool breaks_ties = made.kind == StrategyFormula::Kind::kVariable && options_.breaks_ties;
  std::vector<OwnCost> costs;
  for (int number : numbers) {
    OwnCost own{.price = table_.LocalPrice(kind.value, number)};
    if (breaks_ties) {
      const int idle = IdleAxes(table_.strategy(made.op, number), table_.mesh());
      own.units = kIdleAxis * (table_.paid().may_leave_idle ? table_.mesh().axis_count() - idle : idle);
    }
    costs.push_back(own);
  }
  return costs;
}

int Network::TableOf(const TermKind& kind, const Domains& own) {
  std::vector<int> key = own;
  key.push_back(kind.id);
  const auto [found, is_new] = table_index_.emplace(std::move(key), static_cast<int>(tables_.size()));
  if (!is_new) return found->second;
  const int index = found->second;
  std::vector<const std::vector<int>*> strategies;
  for (int number : own) strategies.push_back(&domain(number));
  const Columns columns(table_, kind, strategies, kind.formulas.size());
  CostTable costs{.sizes = columns.sizes(), .costs = {}};
  size_t choices = 1;
  for (int size : columns.sizes()) choices *= static_cast<size_t>(size);
  costs.costs.assign(choices, kUnknown);
  const double weight = table_.facts().gradient[kind.value] ? gradient_weight_ : 1;
  std::optional<ValueMoves> moves;
  if (kind.moves) moves.emplace(table_, kind, columns, weight, choices);
  const std::vector<OwnCost> own_costs =
      kind.local ? OwnCosts(kind, columns.numbers(kind.made)) : std::vector<OwnCost>();
  std::vector<Strides> renamed;
  if (choices >= kManyChoices) renamed = StridesOfRenamed(kind, own);
  std::vector<int> group;
  Odometer odometer(columns.sizes());
  for (size_t place = 0; place < choices; ++place, odometer.Next()) {
    if (costs.costs[place] != kUnknown) continue;
    const std::vector<int>& digits = odometer.digits();
    Cost cost;
    if (kind.inner_kind >= 0) {
      group.clear();
      for (int member : kind.inner) group.push_back(columns.Number(member, digits));
      cost = CostOfInner(kind, group);
    }
    if (moves.has_value()) cost = cost + moves->CostOf(digits);
    int64_t units = 0;
    if (kind.local) {
      const OwnCost& local = own_costs[columns.Place(kind.made, digits)];
      cost.price += local.price;
      units = local.units;
    }
    costs.costs[place] = std::min(Units(cost) + units, kForbidden);
    for (const Strides& strides : renamed) {
      size_t equal = 0;
      for (size_t v = 0; v < digits.size(); ++v) equal += strides[v][static_cast<size_t>(digits[v])];
      costs.costs[equal] = costs.costs[place];
    }
  }
  tables_.push_back(std::move(costs));
  return index;
}

std::vector<Network::Strides> Network::StridesOfRenamed(const TermKind& kind, const Domains& own) {
  if (!FollowsNames(kind)) return {};
  std::vector<Strides> strides;
  size_t stride = 1;
  for (size_t v = own.size(); v-- > 0;) {
    const RenamedValues& renamed = RenamedOf(own[v]);
    if (renamed.empty()) return {};
    strides.resize(renamed.size(), Strides(own.size()));
    for (size_t r = 0; r < renamed.size(); ++r) {
      for (const int value : renamed[r]) strides[r][v].push_back(static_cast<size_t>(value) * stride);
    }
    stride *= domain(own[v]).size();
  }
  return strides;
}

const RenamedValues& Network::RenamedOf(int domain) {
  DomainEntry& entry = domains_[static_cast<size_t>(domain)];
  if (!entry.renamed.has_value()) entry.renamed = renamings_.Of(table_, entry.op, entry.strategies);
  return *entry.renamed;
}

std::vector<const Term*> Network::PartsOf(const Term& term, const std::vector<int>& sizes) {
  const auto is_small = [&](const Term& own) {
    int64_t entries = 1;
    for (int variable : own.scope) {
      entries = std::min(entries * sizes[static_cast<size_t>(variable)], int64_t{1} << 40);
    }
    return entries <= entries_;
  };
  if (is_small(term)) return {&term};
  is_exact_ = false;
  std::vector<const Term*> parts;
  for (int part : term.parts) {
    const Term& smaller = terms_.parts[static_cast<size_t>(part)];
    const bool counts = options_.large_terms == LargeTerms::kSplit || smaller.never_more;
    if (counts && is_small(smaller)) parts.push_back(&smaller);
  }
  return parts;
}

MinSum Network::Problem(const Domains& domains) {
  is_exact_ = true;
  MinSum problem{.domains = SizesOf(domains), .tables = {}, .terms = {}};
  absl::flat_hash_map<std::pair<int, int64_t>, int> index;  // (own table, times it occurs) -> the problem's table.
  Domains own;
  for (const Term& term : terms_.terms) {
    for (const Term* part : PartsOf(term, problem.domains)) {
      own.clear();
      for (int variable : part->scope) own.push_back(domains[static_cast<size_t>(variable)]);
      const int table = TableOf(terms_.kinds[static_cast<size_t>(part->kind)], own);
      const auto [found, is_new] = index.emplace(std::pair(table, term.count), static_cast<int>(problem.tables.size()));
      if (is_new) problem.tables.push_back(Multiple(tables_[static_cast<size_t>(table)], term.count));
      problem.terms.push_back({.scope = part->scope, .table = found->second});
    }
  }
  return problem;
}

std::vector<int> Network::SizesOf(const Domains& domains) const {
  std::vector<int> sizes;
  for (int number : domains) sizes.push_back(static_cast<int>(domain(number).size()));
  return sizes;
}

int64_t Network::Entries(const Domains& domains, int64_t most) const {
  absl::flat_hash_set<std::vector<int>> seen;
  int64_t entries = 0;
  for (const Term& term : terms_.terms) {
    std::vector<int> key;
    int64_t own = 1;
    for (int variable : term.scope) {
      const int number = domains[static_cast<size_t>(variable)];
      key.push_back(number);
      own = std::min(own * static_cast<int64_t>(domain(number).size()), most);
    }
    key.push_back(term.kind);
    if (own > entries_) continue;
    if (seen.insert(std::move(key)).second) entries = std::min(entries + own, most);
  }
  return entries;
}

std::vector<IndexedChange> Network::Changes(const Domains& domains, const std::vector<int>& values) const {
  std::vector<IndexedChange> changes;
  for (const ir::Op& op : table_.facts().graph->ops) {
    const int variable = terms_.variable_of[op.id];
    if (variable < 0) continue;
    const auto v = static_cast<size_t>(variable);
    changes.push_back({.op = op.id, .strategy = domain(domains[v])[static_cast<size_t>(values[v])]});
  }
  return changes;
}

}  // namespace cleave::search
