// Checks of pins on pipeline stages.
#ifndef CLEAVE_SEARCH_MODEL_PINS_STAGE_PINS_H_
#define CLEAVE_SEARCH_MODEL_PINS_STAGE_PINS_H_

#include <cstdint>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::search {

// Whether ops can be in the stages to which they are pinned, of `stages` stages; reports E0317 where not.
bool CheckStagePins(const ir::Graph& graph, const ir::Pins& pins, int64_t stages, Diagnostics& diagnostics);

// E0317: what cannot be a pipeline, and why.
Diagnostic NoPipeline(const std::string& what, Span place, const std::string& why);
std::string StagesText(int64_t stages);  // "4 stages"

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_PINS_STAGE_PINS_H_
