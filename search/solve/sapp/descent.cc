#include "search/solve/sapp/descent.h"

#include <algorithm>
#include <utility>

#include "search/model/cluster/cluster.h"
#include "search/solve/minsum/minsum.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
Descent::Descent(Assignment& assignment, Network& network, const Freedom& freedom, int64_t work)
    : assignment_(assignment),
      network_(network),
      tuning_(assignment.options().tuning),
      moves_(assignment.table(), network_, freedom),
      work_(work) {
  for (ir::OpId op : network_.variables()) present_.push_back(moves_.Stay(op, assignment.index(op)));
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

Descent::Outcome Descent::Take(const DomainOf& domain_of, const StepOptions& options) {
  if (Spent() && !options.must_move) return Outcome::kNotTaken;
  const std::vector<ir::OpId>& variables = network_.variables();
  const int64_t planned = assignment_.table().prices().work();
  Domains domains = present_;
  for (size_t v = 0; v < domains.size(); ++v) {
    if (network_.fixed(static_cast<int>(v))) continue;
    domains[v] = domain_of(variables[v], network_.domain(present_[v])[0]);
  }
  if (domains == present_) return Outcome::kNothingCheaper;
  MinSum problem;
  bool is_possible = true;
  if (!options.prunes) {
    problem = network_.Problem(domains);
  } else if (std::optional<Network::Narrow> narrow = network_.ProblemBelow(domains, cost_)) {
    domains = std::move(narrow->domains);
    problem = std::move(narrow->problem);
  } else {
    is_possible = false;
  }
  work_ -= static_cast<int64_t>(variables.size()) + assignment_.table().prices().work() - planned;
  if (!is_possible) return Outcome::kNothingCheaper;
  std::optional<Solution> solution = Eliminate(problem, TableLimits(options.tables));
  if (!solution.has_value() && options.tables != Tables::kNarrow) return Outcome::kNotTaken;
  if (!solution.has_value()) solution = EliminateInParts(problem, tuning_.narrow_step);
  work_ -= solution->work / tuning_.sums_per_lookup;
  Domains next = present_;
  for (size_t v = 0; v < domains.size(); ++v) {
    const int number = network_.domain(domains[v])[static_cast<size_t>(solution->values[v])];
    next[v] = moves_.Stay(variables[v], number);
  }
  // Where terms were split, the solution's cost is not that of the plan.
  const int64_t cost = network_.is_exact() ? solution->cost : CostOfOne(next);
  if (!options.must_move && cost >= cost_) return Outcome::kNothingCheaper;
  present_ = std::move(next);
  cost_ = cost;
  return Outcome::kMoved;
}

int64_t Descent::CostOfOne(const Domains& domains) {
  return CostOf(network_.Problem(domains), std::vector<int>(domains.size(), 0));
}

void Descent::Greedy(const ir::AxisList& axes) {
  for (ir::AxisId axis : axes) {
    Step([&](ir::OpId op, int present) { return moves_.Axis(op, present, axis); }, {.must_move = true});
  }
}

// Neighbouring axes of one class move together, the longest runs first.
bool Descent::MoveRuns(const ir::AxisList& axes) {
  bool improved = false;
  for (size_t length = axes.size(); length > 1; --length) {
    for (size_t begin = 0; begin + length <= axes.size(); ++begin) {
      const auto first = axes.begin() + static_cast<std::ptrdiff_t>(begin);
      const ir::AxisList run(first, first + static_cast<std::ptrdiff_t>(length));
      improved |= Step([&](ir::OpId op, int present) { return moves_.Together(op, present, run); }, {});
    }
  }
  return improved;
}

bool Descent::MovePairs(const ir::AxisList& axes) {
  bool improved = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = i + 1; j < axes.size(); ++j) {
      improved |= Step(
          [&](ir::OpId op, int present) {
            return moves_.Each(op, present, {axes[i], axes[j]});
          },
          {.tables = Tables::kWide});
    }
  }
  return improved;
}

bool Descent::MoveTriples(const ir::AxisList& axes) {
  bool improved = false;
  if (axes.size() > tuning_.triple_step_axes) return improved;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = i + 1; j < axes.size(); ++j) {
      for (size_t k = j + 1; k < axes.size(); ++k) {
        improved |= Step(
            [&](ir::OpId op, int present) {
              return moves_.Each(op, present, {axes[i], axes[j], axes[k]});
            },
            {.tables = Tables::kWide, .prunes = true});
      }
    }
  }
  return improved;
}

bool Descent::Reorder(const ir::AxisList& axes) {
  bool improved = false;
  for (ir::AxisId axis : axes) {
    improved |= Step([&](ir::OpId op, int present) { return moves_.Place(op, present, axis); }, {});
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = i + 1; j < axes.size(); ++j) {
      improved |= Step([&](ir::OpId op, int present) { return moves_.Swap(op, present, axes[i], axes[j]); }, {});
    }
  }
  return improved;
}

bool Descent::RefineFreely() {
  moves_.RequireAxes();
  if (assignment_.mesh().axis_count() > tuning_.free_step_axes) return false;
  Domains domains = present_;
  for (size_t v = 0; v < domains.size(); ++v) {
    if (!network_.fixed(static_cast<int>(v)))
      domains[v] = moves_.All(network_.variables()[v], network_.domain(present_[v])[0]);
  }
  if (network_.Entries(domains, tuning_.free_step_entries) == tuning_.free_step_entries) return false;
  return Take([&](ir::OpId op, int present) { return moves_.All(op, present); },
              {.tables = Tables::kFree, .prunes = true}) != Outcome::kNotTaken;
}

bool Descent::UsesRequired() const {
  for (size_t v = 0; v < present_.size(); ++v) {
    if (network_.fixed(static_cast<int>(v))) continue;
    const ir::OpId op = network_.variables()[v];
    if (!moves_.UsesRequired(op, assignment_.table().strategy(op, network_.domain(present_[v])[0]))) return false;
  }
  return true;
}

bool Descent::UseRequired() {
  for (int pass = 0; pass < tuning_.idle_axes_passes && !UsesRequired(); ++pass) Greedy(assignment_.mesh().AxisIds());
  return UsesRequired();
}

bool Descent::Refine(Steps steps) {
  moves_.RequireAxes();
  const ir::AxisList axes = assignment_.mesh().AxisIds();
  const std::vector<AxisClass> classes = AxisClassesOf(assignment_.mesh());
  bool any = false, improved = true;
  while (improved && !Spent()) {
    improved = false;
    for (const AxisClass& own : classes) improved |= MoveRuns(own.axes);
    for (ir::AxisId axis : axes) {
      improved |= Step([&](ir::OpId op, int present) { return moves_.Axis(op, present, axis); }, {});
    }
    if (!improved) improved |= MovePairs(axes);
    if (!improved && steps == Steps::kAll) improved |= MoveTriples(axes);
    if (!improved) improved |= Reorder(axes);
    any |= improved;
  }
  return any;
}

std::vector<IndexedChange> Descent::Changes() const {
  return network_.Changes(present_, std::vector<int>(present_.size(), 0));
}

}  // namespace cleave::search
