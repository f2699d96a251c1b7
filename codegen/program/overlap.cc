#include "codegen/program/overlap.h"

#include <algorithm>

namespace cleave::codegen {
namespace {

using What = StageAction::What;

bool Meet(const std::vector<MemoryRange>& a, const std::vector<MemoryRange>& b) {
  return std::any_of(a.begin(), a.end(), [&](const MemoryRange& range) {
    return std::any_of(b.begin(), b.end(), [&](const MemoryRange& other) { return range.Meets(other); });
  });
}

bool MustKeepOrder(const StageMemory& a, const StageMemory& b) {
  return Meet(a.writes, b.reads) || Meet(a.writes, b.writes) || Meet(a.reads, b.writes);
}

// Forward and metrics also run without the backward pass.
bool MayMoveInto(const StageMemory& from, const StageMemory& to) {
  if (from.repeat != to.repeat) return false;
  if (from.pass.has_value() && to.pass.has_value() && from.pass != to.pass) return false;
  return from.phase == to.phase || (from.phase == ir::Phase::kUpdate && to.phase == ir::Phase::kBackward);
}

// The stage before which collective `stage` is started.
size_t EarliestPlace(const std::vector<StageMemory>& stages, size_t stage) {
  size_t place = stage;
  while (place > 0 && MayMoveInto(stages[stage], stages[place - 1]) &&
         !MustKeepOrder(stages[place - 1], stages[stage])) {
    --place;
  }
  return place;
}

std::vector<StageAction> StartEarly(const std::vector<StageMemory>& stages) {
  std::vector<std::vector<int>> started_before(stages.size());
  size_t last = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (!stages[i].can_overlap) continue;
    size_t place = EarliestPlace(stages, i);
    if (stages[i].is_collective && stages[i].phase != ir::Phase::kUpdate) place = last = std::max(place, last);
    started_before[place].push_back(static_cast<int>(i));
  }
  std::vector<StageAction> actions;
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto act = [&](What what, int stage) {
      actions.push_back(
          {.what = what, .stage = stage, .phase = stages[i].phase, .repeat = stages[i].repeat, .pass = stages[i].pass});
    };
    for (const int collective : started_before[i]) act(What::kStart, collective);
    if (!stages[i].can_overlap) act(What::kRun, static_cast<int>(i));
  }
  return actions;
}

// The action before which the collective that `actions[start]` starts must be finished.
size_t EndOf(const std::vector<StageMemory>& stages, const std::vector<StageAction>& actions, size_t start) {
  const StageMemory& collective = stages[static_cast<size_t>(actions[start].stage)];
  size_t end = start + 1;
  while (end < actions.size() && actions[end].phase == actions[start].phase &&
         actions[end].repeat == actions[start].repeat && actions[end].pass == actions[start].pass &&
         !MustKeepOrder(stages[static_cast<size_t>(actions[end].stage)], collective)) {
    ++end;
  }
  return end;
}

// Whether the collective that `actions[start]` starts may be under way until the passes of the step are done, and the
// host reads what it gives. A program with micro-batches or stages has other passes behind it.
bool IsResult(const std::vector<StageMemory>& stages, const std::vector<StageAction>& actions, size_t start) {
  const auto index = static_cast<size_t>(actions[start].stage);
  const StageMemory& collective = stages[index];
  if (!collective.is_collective || collective.phase > ir::Phase::kMetric) return false;
  const auto alone = [](const StageMemory& stage) {
    return stage.repeat == ir::Repeat::kEach && !stage.pass.has_value();
  };
  const auto update = std::find_if(stages.begin(), stages.end(),
                                   [](const StageMemory& stage) { return stage.phase == ir::Phase::kUpdate; });
  if (!std::all_of(stages.begin(), update, alone)) return false;
  // The first stage of the update, if it is no work, is the host.
  if (update == stages.end() || update->is_work || !Meet(collective.writes, update->reads)) return false;
  return std::all_of(actions.begin() + static_cast<std::ptrdiff_t>(start) + 1, actions.end(), [&](const auto& action) {
    const auto other = static_cast<size_t>(action.stage);
    return stages[other].phase == ir::Phase::kUpdate || !MustKeepOrder(stages[other], collective);
  });
}

}  // namespace

std::vector<StageAction> OverlapCollectives(const std::vector<StageMemory>& stages) {
  const std::vector<StageAction> started = StartEarly(stages);
  std::vector<std::vector<StageAction>> finished_before(started.size() + 1);
  std::vector<StageAction> actions;
  for (size_t i = 0; i < started.size(); ++i) {
    actions.insert(actions.end(), finished_before[i].begin(), finished_before[i].end());
    actions.push_back(started[i]);
    if (started[i].what != What::kStart) continue;
    if (IsResult(stages, started, i)) {
      actions.back().what = What::kStartResult;
      continue;
    }
    const size_t end = EndOf(stages, started, i);
    const auto works = [&](const StageAction& action) {
      return action.what == What::kRun && stages[static_cast<size_t>(action.stage)].is_work;
    };
    const bool is_beside_work = std::any_of(started.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                            started.begin() + static_cast<std::ptrdiff_t>(end), works);
    if (is_beside_work) {
      finished_before[end].push_back(started[i]);
      finished_before[end].back().what = What::kFinish;
    } else {
      actions.back().what = What::kRun;
    }
  }
  actions.insert(actions.end(), finished_before.back().begin(), finished_before.back().end());
  return actions;
}

}  // namespace cleave::codegen
