#include "search/model/pins/stage_pins.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave::search {

bool CheckStagePins(const ir::Graph& graph, const ir::Pins& pins, int64_t stages, Diagnostics& diagnostics) {
  std::vector<ir::StagePin> ordered = pins.stages;
  std::sort(ordered.begin(), ordered.end(), [](const ir::StagePin& a, const ir::StagePin& b) { return a.op < b.op; });
  // Stages are runs of ops.
  const ir::StagePin* latest = nullptr;
  for (const ir::StagePin& pin : ordered) {
    if (pin.stage >= stages) {
      diagnostics.Add(NoPipeline(absl::StrCat("stage ", pin.stage, " in a plan with ", StagesText(stages)), pin.span,
                                 "asked for here")
                          .Note("stages are numbered from 0")
                          .Help("`stages` in `parallel` says how many there are"));
      return false;
    }
    if (latest != nullptr && pin.stage < latest->stage) {
      diagnostics.Add(NoPipeline(absl::StrCat("`", graph.op(pin.op).name, "` in stage ", pin.stage, " comes after `",
                                              graph.op(latest->op).name, "` in stage ", latest->stage),
                                 pin.span, "the earlier stage")
                          .At(latest->span, "the later stage")
                          .Note("each stage has the ops between its first and its last one, as they are written"));
      return false;
    }
    latest = &pin;
  }
  return true;
}

Diagnostic NoPipeline(const std::string& what, Span place, const std::string& why) {
  return Error(Code::kE0317, what).At(place, why);
}

std::string StagesText(int64_t stages) { return Plural(stages, "stage"); }

}  // namespace cleave::search
