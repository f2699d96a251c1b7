#include "search/sapp/descent.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "search/cluster/cluster.h"
#include "search/minsum/minsum.h"
#include "search/sapp/choices.h"

namespace cleave {
namespace {

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c15u;
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Descent::Descent(Assignment& assignment, Network& network, int64_t work)
    : assignment_(assignment),
      network_(network),
      tuning_(assignment.options().tuning),
      moves_(assignment.table(), network_),
      work_(work) {
  for (OpId op : network_.variables()) present_.push_back(moves_.Stay(op, assignment.index(op)));
  cost_ = CostOfOne(present_);
}

const EliminationLimits& Descent::TableLimits(Tables tables) const {
  switch (tables) {
    case Tables::kNarrow:
      return tuning_.narrow_step;
    case Tables::kWide:
      return tuning_.wide_step;
    case Tables::kFree:
      return tuning_.free_step;
  }
  return tuning_.narrow_step;
}

bool Descent::Step(const DomainOf& domain_of, const StepOptions& options) {
  if (Spent() && !options.must_move) return false;
  const std::vector<OpId>& variables = network_.variables();
  const int64_t planned = assignment_.table().prices().work();
  Domains domains = present_;
  for (size_t v = 0; v < domains.size(); ++v) {
    if (network_.fixed(static_cast<int>(v))) continue;
    domains[v] = domain_of(variables[v], network_.domain(present_[v])[0]);
  }
  if (domains == present_) return false;
  const MinSum problem = network_.Problem(domains);
  std::optional<Solution> solution = Eliminate(problem, TableLimits(options.tables));
  work_ -= static_cast<int64_t>(variables.size()) + assignment_.table().prices().work() - planned;
  if (!solution.has_value() && options.tables != Tables::kNarrow) return false;
  if (!solution.has_value()) solution = EliminateInParts(problem, tuning_.narrow_step);
  work_ -= solution->work / tuning_.sums_per_lookup;
  Domains next = present_;
  for (size_t v = 0; v < domains.size(); ++v) {
    const int number = network_.domain(domains[v])[static_cast<size_t>(solution->values[v])];
    next[v] = moves_.Stay(variables[v], number);
  }
  // With terms that were split, the solution's cost is not that of the plan.
  const int64_t cost = network_.is_exact() ? solution->cost : CostOfOne(next);
  if (!options.must_move && cost >= cost_) return false;
  present_ = std::move(next);
  cost_ = cost;
  return true;
}

int64_t Descent::CostOfOne(const Domains& domains) {
  return CostOf(network_.Problem(domains), std::vector<int>(domains.size(), 0));
}

void Descent::Greedy(const std::vector<AxisId>& axes) {
  for (AxisId axis : axes) {
    Step([&](OpId op, int present) { return moves_.Axis(op, present, axis); }, {.must_move = true});
  }
}

// Runs of neighbouring axes of one class go together: the longest first.
bool Descent::MoveRuns(const std::vector<AxisId>& axes) {
  bool improved = false;
  for (size_t length = axes.size(); length > 1; --length) {
    for (size_t begin = 0; begin + length <= axes.size(); ++begin) {
      const auto first = axes.begin() + static_cast<std::ptrdiff_t>(begin);
      const std::vector<AxisId> run(first, first + static_cast<std::ptrdiff_t>(length));
      improved |= Step([&](OpId op, int present) { return moves_.Together(op, present, run); }, {});
    }
  }
  return improved;
}

bool Descent::MovePairs(const std::vector<AxisId>& axes) {
  bool improved = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = i + 1; j < axes.size(); ++j) {
      improved |= Step(
          [&](OpId op, int present) {
            return moves_.Each(op, present, {axes[i], axes[j]});
          },
          {.tables = Tables::kWide});
    }
  }
  return improved;
}

// Three axes at a time, while there are few.
bool Descent::MoveTriples(const std::vector<AxisId>& axes) {
  bool improved = false;
  if (axes.size() > tuning_.triple_step_axes) return improved;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = i + 1; j < axes.size(); ++j) {
      for (size_t k = j + 1; k < axes.size(); ++k) {
        improved |= Step(
            [&](OpId op, int present) {
              return moves_.Each(op, present, {axes[i], axes[j], axes[k]});
            },
            {.tables = Tables::kWide});
      }
    }
  }
  return improved;
}

bool Descent::Reorder(const std::vector<AxisId>& axes) {
  bool improved = false;
  for (AxisId axis : axes) {
    improved |= Step([&](OpId op, int present) { return moves_.Place(op, present, axis); }, {});
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = i + 1; j < axes.size(); ++j) {
      improved |= Step([&](OpId op, int present) { return moves_.Swap(op, present, axes[i], axes[j]); }, {});
    }
  }
  return improved;
}

// Every op anywhere, where that is little: nothing is missed on small graphs.
bool Descent::RefineFreely() {
  moves_.RequireAllAxes();
  if (assignment_.mesh().axis_count() > tuning_.free_step_axes) return false;
  Domains domains = present_;
  for (size_t v = 0; v < domains.size(); ++v) {
    if (!network_.fixed(static_cast<int>(v)))
      domains[v] = moves_.All(network_.variables()[v], network_.domain(present_[v])[0]);
  }
  if (network_.Entries(domains, tuning_.free_step_entries) == tuning_.free_step_entries) return false;
  return Step([&](OpId op, int present) { return moves_.All(op, present); }, {.tables = Tables::kFree});
}

bool Descent::UsesAllAxes() const {
  for (size_t v = 0; v < present_.size(); ++v) {
    if (network_.fixed(static_cast<int>(v))) continue;
    const OpId op = network_.variables()[v];
    if (!moves_.UsesAllAxes(op, assignment_.table().strategy(op, network_.domain(present_[v])[0]))) return false;
  }
  return true;
}

bool Descent::UseAllAxes() {
  for (int pass = 0; pass < tuning_.idle_axes_passes && !UsesAllAxes(); ++pass) Greedy(assignment_.mesh().AxisIds());
  return UsesAllAxes();
}

bool Descent::Refine() {
  moves_.RequireAllAxes();
  const std::vector<AxisId> axes = assignment_.mesh().AxisIds();
  const std::vector<AxisClass> classes = AxisClassesOf(assignment_.mesh());
  bool any = false, improved = true;
  while (improved && !Spent()) {
    improved = false;
    for (const AxisClass& own : classes) improved |= MoveRuns(own.axes);
    for (AxisId axis : axes) {
      improved |= Step([&](OpId op, int present) { return moves_.Axis(op, present, axis); }, {});
    }
    if (!improved) improved |= MovePairs(axes);
    if (!improved) improved |= MoveTriples(axes);
    if (!improved) improved |= Reorder(axes);
    any |= improved;
  }
  return any;
}

std::vector<IndexedChange> Descent::Changes() const {
  return network_.Changes(present_, std::vector<int>(present_.size(), 0));
}

namespace {

using Looks = IdVector<OpId, uint64_t>;

// Equal where rules and looks are.
IdVector<OpId, int> Numbered(const GraphFacts& facts, const Looks& look) {
  absl::flat_hash_map<std::pair<int, uint64_t>, int> numbers;
  IdVector<OpId, int> result;
  for (const Op& op : facts.graph->ops) {
    const std::pair key(facts.rule_of[op.id], look[op.id]);
    result.push_back(numbers.emplace(key, static_cast<int>(numbers.size())).first->second);
  }
  return result;
}

}  // namespace

Folding FoldOps(const StrategyTable& table, const std::map<OpId, Demand>& demands, const SearchTuning& tuning) {
  const GraphFacts& facts = table.facts();
  const size_t count = facts.graph->ops.size();
  Looks look(count), next(count);
  const auto is_forward = [&](OpId op) {
    const Phase phase = facts.op(op).phase;
    return phase == Phase::kForward;
  };
  for (const Op& op : facts.graph->ops) {
    look[op.id] = Mix(static_cast<uint64_t>(facts.rule_of[op.id]), static_cast<uint64_t>(facts.roles[op.id]));
    look[op.id] = Mix(look[op.id], static_cast<uint64_t>(table.local_kind(op.id)));
    if (demands.count(op.id) > 0) look[op.id] = Mix(look[op.id], static_cast<uint64_t>(op.id.value()) + 1);
  }
  for (int round = 0; round < tuning.folding_steps; ++round) {
    for (const Op& op : facts.graph->ops) {
      if (!is_forward(op.id)) continue;
      uint64_t own = look[op.id];
      for (OpId input : op.inputs) own = Mix(own, look[input]);
      uint64_t readers = 0;  // A sum: their order is of no matter.
      for (const Read& read : facts.reads[op.id]) {
        if (is_forward(read.reader)) readers += Mix(look[read.reader], static_cast<uint64_t>(read.input));
      }
      next[op.id] = Mix(own, readers);
    }
    std::swap(look, next);
  }
  Folding folding{.variables = Numbered(facts, look), .values = {}};
  // Terms are alike where all that they depend on is: some steps further than variables. Ops that follow from others
  // look like what they follow from, read and are read by.
  for (int round = 0; round < tuning.folding_value_steps; ++round) {
    for (const Op& op : facts.graph->ops) {
      uint64_t own = look[op.id];
      if (op.inherits.has_value()) own = Mix(own, look[op.inherits->op]);
      if (op.gradient_of.has_value()) own = Mix(own, look[*op.gradient_of] + 1);
      for (OpId input : op.inputs) own = Mix(own, look[input]);
      uint64_t readers = 0;
      for (const Read& read : facts.reads[op.id]) readers += Mix(look[read.reader], static_cast<uint64_t>(read.input));
      next[op.id] = Mix(own, readers);
    }
    std::swap(look, next);
  }
  folding.values = Numbered(facts, look);
  return folding;
}

}  // namespace cleave
