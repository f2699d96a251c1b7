#include "ir/partition/rewrite.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/match/match.h"

namespace cleave {
namespace {

// How often each value is read, by steps and as a result of the program.
IdVector<ValueId, int> CountUses(const Program& program) {
  IdVector<ValueId, int> uses(program.values.size(), 0);
  for (const Step& step : program.steps) {
    for (ValueId value : Reads(step)) ++uses[value];
  }
  if (program.loss.has_value()) ++uses[*program.loss];
  for (const ProgramMetric& metric : program.metrics) ++uses[metric.value];
  for (const ProgramUpdate& update : program.updates) {
    ++uses[update.state];
    ++uses[update.value];
  }
  return uses;
}

// Where a slice cuts along all of an all_reduce's axes, and nothing before them.
struct ScatterPlace {
  int dimension = -1;
  std::vector<AxisId> axes;  // In the order of the cut.
};

std::optional<ScatterPlace> FindScatterPlace(const Program& program, const Collective& reduce, const Slice& slice) {
  const Layout& before = program.value(slice.input).layout;
  const Layout& after = program.value(slice.output).layout;
  const std::set<AxisId> wanted(reduce.axes.begin(), reduce.axes.end());
  for (size_t d = 0; d < before.dimensions.size(); ++d) {
    const std::vector<AxisId>& axes = after.dimensions[d];
    const size_t kept = before.dimensions[d].size();
    if (axes.size() < kept + wanted.size()) continue;
    const auto begin = axes.begin() + static_cast<int64_t>(kept);
    const std::vector<AxisId> cut(begin, begin + static_cast<int64_t>(wanted.size()));
    if (std::set<AxisId>(cut.begin(), cut.end()) == wanted) return ScatterPlace{static_cast<int>(d), cut};
  }
  return std::nullopt;
}

// What an update-phase all_reduce may be merged with: equal keys.
struct MergeKey {
  std::vector<AxisId> axes;
  Reduction reduction;
  DType dtype;
  int level;  // Merged all_reduces on the longest way to its input.

  bool operator<(const MergeKey& other) const {
    return std::tie(level, axes, reduction, dtype) < std::tie(other.level, other.axes, other.reduction, other.dtype);
  }
};

// Steps that must run as one, and their place among the others.
struct Unit {
  std::vector<size_t> steps;  // Indexes, ascending.
};

const Collective* MergeableCollective(const Step& step) {
  const Collective* collective = std::get_if<Collective>(&step.action);
  const bool mergeable = collective != nullptr && step.phase == Phase::kUpdate &&
                         collective->kind == CollectiveKind::kAllReduce && collective->transfers.size() == 1;
  return mergeable ? collective : nullptr;
}

// Every step alone, but for the all_reduces of one key. In the order of their first steps, all_reduces first in the update phase.
std::vector<Unit> MakeUnits(const Program& program) {
  std::vector<Unit> units;
  std::map<MergeKey, size_t> unit_of_key;
  IdVector<ValueId, int> level(program.values.size(), 0);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    int highest = 0;
    for (ValueId value : Reads(step)) highest = std::max(highest, level[value]);
    const Collective* collective = MergeableCollective(step);
    for (ValueId value : Writes(step)) level[value] = highest + (collective != nullptr ? 1 : 0);
    if (collective != nullptr) {
      const MergeKey key{.axes = collective->axes,
                         .reduction = collective->reduction,
                         .dtype = program.value(collective->transfers[0].input).type.dtype,
                         .level = highest};
      const auto [found, is_new] = unit_of_key.try_emplace(key, units.size());
      if (!is_new) {
        units[found->second].steps.push_back(i);
        continue;
      }
    }
    units.push_back({.steps = {i}});
  }
  // Reductions of gradients can start as soon as the backward pass is over; nothing of the update should stand before them, lest it be
  // cut in two.
  const auto rank = [&](const Unit& unit) {
    const Step& step = program.steps[unit.steps.front()];
    return std::pair(step.phase, MergeableCollective(step) == nullptr);
  };
  std::stable_sort(units.begin(), units.end(), [&](const Unit& a, const Unit& b) { return rank(a) < rank(b); });
  return units;
}

// An order in which every unit comes after those whose values it reads, else as they stand.
std::vector<size_t> OrderOf(const Program& program, const std::vector<Unit>& units) {
  IdVector<ValueId, size_t> writer(program.values.size(), units.size());
  for (size_t i = 0; i < units.size(); ++i) {
    for (size_t step : units[i].steps) {
      for (ValueId value : Writes(program.steps[step])) writer[value] = i;
    }
  }
  std::vector<std::set<size_t>> readers(units.size());
  std::vector<size_t> waits_for(units.size(), 0);
  for (size_t i = 0; i < units.size(); ++i) {
    for (size_t step : units[i].steps) {
      for (ValueId value : Reads(program.steps[step])) {
        const size_t unit = writer[value];
        if (unit < units.size() && unit != i && readers[unit].insert(i).second) ++waits_for[i];
      }
    }
  }
  std::set<size_t> ready;
  for (size_t i = 0; i < units.size(); ++i) {
    if (waits_for[i] == 0) ready.insert(i);
  }
  // Sources stay in their phase: a unit is only taken when all units of earlier phases are done, which the order of the
  // set gives, since units stand in phase order.
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t unit = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(unit);
    for (size_t reader : readers[unit]) {
      if (--waits_for[reader] == 0) ready.insert(reader);
    }
  }
  return order;
}

// "gradients of h1.weight, h1.bias and 4 more", from the parts' own reasons.
std::string MergedReason(const std::vector<std::string>& reasons) {
  constexpr size_t kNamed = 2;
  constexpr absl::string_view kGradient = "gradient of ";
  const bool all_gradients = std::all_of(reasons.begin(), reasons.end(), [&](const std::string& reason) {
    return reason.rfind(std::string(kGradient), 0) == 0;
  });
  std::string text = all_gradients ? "gradients of " : "";
  const size_t named = std::min(kNamed, reasons.size());
  for (size_t i = 0; i < named; ++i) {
    if (i > 0) absl::StrAppend(&text, i + 1 == reasons.size() ? " and " : ", ");
    absl::StrAppend(&text, all_gradients ? reasons[i].substr(kGradient.size()) : reasons[i]);
  }
  if (reasons.size() > named) absl::StrAppend(&text, " and ", reasons.size() - named, " more");
  return text;
}

Step MergedStep(const Program& program, const Unit& unit, std::string name) {
  Step merged = program.steps[unit.steps.front()];
  Collective& collective = std::get<Collective>(merged.action);
  std::vector<std::string> reasons = {collective.why};
  for (size_t i = 1; i < unit.steps.size(); ++i) {
    const Collective& part = std::get<Collective>(program.steps[unit.steps[i]].action);
    collective.transfers.push_back(part.transfers[0]);
    reasons.push_back(part.why);
  }
  collective.why = MergedReason(reasons);
  merged.name = std::move(name);
  return merged;
}

}  // namespace

void FuseReduceScatters(Program& program) {
  const IdVector<ValueId, int> uses = CountUses(program);
  std::map<ValueId, size_t> slice_of;  // Value -> the slice that reads it.
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (const Slice* slice = std::get_if<Slice>(&program.steps[i].action)) slice_of[slice->input] = i;
  }
  std::set<size_t> dropped;
  for (Step& step : program.steps) {
    Collective* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || collective->kind != CollectiveKind::kAllReduce || collective->transfers.size() != 1)
      continue;
    Transfer& transfer = collective->transfers[0];
    const auto found = slice_of.find(transfer.output);
    if (uses[transfer.output] != 1 || found == slice_of.end()) continue;
    const Slice slice = std::get<Slice>(program.steps[found->second].action);
    const std::optional<ScatterPlace> place = FindScatterPlace(program, *collective, slice);
    if (!place.has_value()) continue;
    collective->kind = CollectiveKind::kReduceScatter;
    collective->axes = place->axes;
    transfer.to_dimension = place->dimension;
    Value& scattered = program.values[transfer.output];
    std::vector<AxisId>& axes = scattered.layout.dimensions[static_cast<size_t>(place->dimension)];
    axes.insert(axes.end(), place->axes.begin(), place->axes.end());
    // What the all_reduce was named after, with the right kind.
    const std::string suffix = std::string(CollectiveKindName(CollectiveKind::kAllReduce));
    if (const size_t at = scattered.name.rfind(suffix); at != std::string::npos) {
      scattered.name.replace(at, suffix.size(), std::string(CollectiveKindName(CollectiveKind::kReduceScatter)));
      step.name = scattered.name;
    }
    if (scattered.layout == program.value(slice.output).layout) {
      transfer.output = slice.output;
      program.values[slice.output].name = step.name;
      dropped.insert(found->second);
    }
  }
  std::vector<Step> kept;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (dropped.count(i) == 0) kept.push_back(std::move(program.steps[i]));
  }
  program.steps = std::move(kept);
}

void RemoveDeadMoves(Program& program) {
  IdVector<ValueId, int> uses = CountUses(program);
  std::vector<Step> kept;
  for (size_t i = program.steps.size(); i-- > 0;) {
    Step& step = program.steps[i];
    const std::vector<ValueId> writes = Writes(step);
    const bool is_dead = !std::holds_alternative<Compute>(step.action) &&
                         std::all_of(writes.begin(), writes.end(), [&](ValueId value) { return uses[value] == 0; });
    if (is_dead) {
      for (ValueId value : Reads(step)) --uses[value];
    } else {
      kept.push_back(std::move(step));
    }
  }
  std::reverse(kept.begin(), kept.end());
  program.steps = std::move(kept);
}

void MergeAllReduces(Program& program) {
  const std::vector<Unit> units = MakeUnits(program);
  std::set<std::string> names;
  for (const Step& step : program.steps) names.insert(step.name);
  std::vector<Step> steps;
  for (size_t index : OrderOf(program, units)) {
    const Unit& unit = units[index];
    if (unit.steps.size() == 1) {
      steps.push_back(program.steps[unit.steps.front()]);
      continue;
    }
    std::string name = "gradients.all_reduce";
    for (int number = 1; !names.insert(name).second; ++number) name = absl::StrCat("gradients.all_reduce_", number);
    steps.push_back(MergedStep(program, unit, std::move(name)));
  }
  program.steps = std::move(steps);
}

void RenumberValues(Program& program) {
  IdVector<ValueId, Value> values;
  IdVector<ValueId, ValueId> renumbered(program.values.size());
  for (const Step& step : program.steps) {
    for (ValueId value : Writes(step)) renumbered[value] = values.push_back(program.values[value]);
  }
  const auto renumber = [&](ValueId& value) { value = renumbered[value]; };
  for (Step& step : program.steps) {
    Match(
        step.action,
        [&](Compute& compute) {
          std::for_each(compute.inputs.begin(), compute.inputs.end(), renumber);
          renumber(compute.output);
        },
        [&](Collective& collective) {
          for (Transfer& transfer : collective.transfers) {
            renumber(transfer.input);
            renumber(transfer.output);
          }
        },
        [&](Slice& slice) {
          renumber(slice.input);
          renumber(slice.output);
        });
  }
  if (program.loss.has_value()) renumber(*program.loss);
  for (ProgramMetric& metric : program.metrics) renumber(metric.value);
  for (ProgramUpdate& update : program.updates) {
    renumber(update.state);
    renumber(update.value);
  }
  program.values = std::move(values);
}

}  // namespace cleave
