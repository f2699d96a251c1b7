#include "ir/program/partition/rewrite.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/match/match.h"

namespace cleave::ir {
namespace {

// Calls `visit` with every place that names the loss or a metric.
template <typename Visit>
void ForEachResult(Program& program, const Visit& visit) {
  if (program.loss.has_value()) visit(*program.loss);
  for (ValueId& value : program.loss_of) visit(value);
  for (ProgramMetric& metric : program.metrics) {
    visit(metric.value);
    for (ValueId& value : metric.of) visit(value);
  }
}

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

// The place where a slice cuts along all axes of an all_reduce, with nothing cut before them.
struct ScatterPlace {
  int dimension = -1;
  AxisList axes;  // In the order of the cut.

  bool operator==(const ScatterPlace&) const = default;
};

std::optional<ScatterPlace> FindScatterPlace(const Program& program, const Collective& reduce, const Slice& slice) {
  const Layout& before = program.value(slice.input).layout;
  const Layout& after = program.value(slice.output).layout;
  if (!after.windows.empty()) return std::nullopt;
  const std::set<AxisId> wanted(reduce.axes.begin(), reduce.axes.end());
  for (size_t d = 0; d < before.dimensions.size(); ++d) {
    const AxisList& axes = after.dimensions[d];
    const size_t kept = before.dimensions[d].size();
    if (axes.size() < kept + wanted.size()) continue;
    const auto begin = axes.begin() + static_cast<int64_t>(kept);
    const AxisList cut(begin, begin + static_cast<int64_t>(wanted.size()));
    if (std::set<AxisId>(cut.begin(), cut.end()) == wanted) return ScatterPlace{static_cast<int>(d), cut};
  }
  return std::nullopt;
}

// The slices that read each value, by step.
std::map<ValueId, std::vector<size_t>> SlicesByInput(const Program& program) {
  std::map<ValueId, std::vector<size_t>> slices;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (const Slice* slice = std::get_if<Slice>(&program.steps[i].action)) slices[slice->input].push_back(i);
  }
  return slices;
}

// The place where all of `slices` cut; nullopt where they differ.
std::optional<ScatterPlace> CommonPlace(const Program& program, const Collective& reduce,
                                        const std::vector<size_t>& slices) {
  std::optional<ScatterPlace> common;
  for (size_t slice : slices) {
    const auto place = FindScatterPlace(program, reduce, std::get<Slice>(program.steps[slice].action));
    if (!place.has_value() || (common.has_value() && !(*common == *place))) return std::nullopt;
    common = place;
  }
  return common;
}

// Makes `step`, an all_reduce of one tensor, a reduce_scatter, named like one.
void ScatterAt(Program& program, const ScatterPlace& place, Step& step) {
  Collective& collective = std::get<Collective>(step.action);
  Transfer& transfer = collective.transfers[0];
  collective.kind = CollectiveKind::kReduceScatter;
  collective.axes = place.axes;
  transfer.to_dimension = place.dimension;
  Value& scattered = program.values[transfer.output];
  AxisList& axes = scattered.layout.dimensions[static_cast<size_t>(place.dimension)];
  axes.insert(axes.end(), place.axes.begin(), place.axes.end());
  const std::string suffix(CollectiveKindName(CollectiveKind::kAllReduce));
  const size_t at = scattered.name.rfind(suffix);
  if (at == std::string::npos) return;
  scattered.name.replace(at, suffix.size(), std::string(CollectiveKindName(CollectiveKind::kReduceScatter)));
  step.name = scattered.name;
}

// Every step that reads a key of `replaced` reads its value instead.
void ReplaceReads(Program& program, const std::map<ValueId, ValueId>& replaced) {
  const auto replace = [&](ValueId& value) {
    const auto found = replaced.find(value);
    if (found != replaced.end()) value = found->second;
  };
  for (Step& step : program.steps) {
    Match(
        step.action, [&](Compute& compute) { std::for_each(compute.inputs.begin(), compute.inputs.end(), replace); },
        [&](Collective& collective) {
          for (Transfer& transfer : collective.transfers) replace(transfer.input);
        },
        [&](Slice& slice) { replace(slice.input); }, [&](View& view) { replace(view.input); },
        [&](Glance& glance) { replace(glance.input); }, [&](HostCopy& copy) { replace(copy.input); },
        [&](Send& send) { replace(send.input); }, [](Receive&) {});
  }
  ForEachResult(program, replace);
  for (ProgramUpdate& update : program.updates) replace(update.value);
}

void RemoveSteps(Program& program, const std::set<size_t>& removed) {
  if (removed.empty()) return;
  size_t kept = *removed.begin();
  for (size_t i = kept; i < program.steps.size(); ++i) {
    if (removed.count(i) == 0) program.steps[kept++] = std::move(program.steps[i]);
  }
  program.steps.resize(kept);
}

}  // namespace

void FuseReduceScatters(Program& program) {
  const IdVector<ValueId, int> uses = CountUses(program);
  const std::map<ValueId, std::vector<size_t>> slices_of = SlicesByInput(program);
  std::set<size_t> dropped;
  std::map<ValueId, ValueId> replaced;
  for (Step& step : program.steps) {
    Collective* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || collective->kind != CollectiveKind::kAllReduce || collective->transfers.size() != 1)
      continue;
    Transfer& transfer = collective->transfers[0];
    const auto found = slices_of.find(transfer.output);
    if (found == slices_of.end() || uses[transfer.output] != static_cast<int>(found->second.size())) continue;
    const std::optional<ScatterPlace> place = CommonPlace(program, *collective, found->second);
    if (!place.has_value()) continue;
    ScatterAt(program, *place, step);
    // The slice that asks for exactly this is done; readers of another such slice read the first.
    const ValueId scattered = transfer.output;
    for (size_t i : found->second) {
      const ValueId sliced = std::get<Slice>(program.steps[i].action).output;
      if (!(program.value(sliced).layout == program.value(scattered).layout)) continue;
      dropped.insert(i);
      if (transfer.output != scattered) {
        replaced[sliced] = transfer.output;
        continue;
      }
      transfer.output = sliced;
      program.values[sliced].name = step.name;
    }
    for (size_t i : found->second) std::get<Slice>(program.steps[i].action).input = transfer.output;
  }
  RemoveSteps(program, dropped);
  if (!replaced.empty()) ReplaceReads(program, replaced);
}

void RemoveDeadMoves(Program& program) {
  IdVector<ValueId, int> uses = CountUses(program);
  std::set<size_t> dead;
  for (size_t i = program.steps.size(); i-- > 0;) {
    const Step& step = program.steps[i];
    const bool has_partner = std::holds_alternative<Send>(step.action) || std::holds_alternative<Receive>(step.action);
    if (std::holds_alternative<Compute>(step.action) || has_partner) continue;
    const StepValues writes = Writes(step);
    if (!std::all_of(writes.begin(), writes.end(), [&](ValueId value) { return uses[value] == 0; })) continue;
    for (ValueId value : Reads(step)) --uses[value];
    dead.insert(i);
  }
  RemoveSteps(program, dead);
}

void MoveCopiesOut(Program& program) {
  if (std::none_of(program.steps.begin(), program.steps.end(), IsCopyOut)) return;
  IdVector<ValueId, size_t> last(program.values.size(), 0);  // The steps that touch each value last.
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.phase != Phase::kForward || IsCopyOut(step)) continue;
    for (const ValueId value : Reads(step)) last[value] = i;
    for (const ValueId value : Writes(step)) last[value] = i;
  }
  // By the place of the step: a copy runs as often as what it copies is made, perhaps more seldom than it is read.
  std::vector<std::pair<std::tuple<Repeat, Phase, size_t>, Step>> places;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    Step& step = program.steps[i];
    const size_t place = IsCopyOut(step) ? last[Reads(step).front()] : i;
    places.emplace_back(std::make_tuple(step.repeat, step.phase, place), std::move(step));
  }
  const auto is_before = [](const auto& a, const auto& b) {
    return std::make_tuple(a.first, IsCopyOut(a.second)) < std::make_tuple(b.first, IsCopyOut(b.second));
  };
  std::stable_sort(places.begin(), places.end(), is_before);
  for (size_t i = 0; i < places.size(); ++i) program.steps[i] = std::move(places[i].second);
}

void RenumberValues(Program& program) {
  IdVector<ValueId, Value> values;
  IdVector<ValueId, ValueId> renumbered(program.values.size());
  for (const Step& step : program.steps) {
    for (ValueId value : Writes(step)) renumbered[value] = values.push_back(std::move(program.values[value]));
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
        },
        [&](View& view) {
          renumber(view.input);
          renumber(view.output);
        },
        [&](Glance& glance) { renumber(glance.input); },
        [&](HostCopy& copy) {
          renumber(copy.input);
          renumber(copy.output);
        },
        [&](Send& send) { renumber(send.input); }, [&](Receive& receive) { renumber(receive.output); });
  }
  ForEachResult(program, renumber);
  for (ProgramUpdate& update : program.updates) {
    renumber(update.state);
    renumber(update.value);
  }
  program.values = std::move(values);
}

}  // namespace cleave::ir
