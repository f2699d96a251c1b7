// Whether the batch of a model can be taken in micro-batches.
#ifndef CLEAVE_TOOLS_DRIVER_MICRO_BATCHES_H_
#define CLEAVE_TOOLS_DRIVER_MICRO_BATCHES_H_

#include <cstdint>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "tools/driver/compiled_model.h"

namespace cleave::tools {

// Returns false after E0315: `micro_batches` is a number above 1, and the model has an op that needs all samples of a
// step at once, or values that are looked at, or fewer samples.
bool CheckMicroBatches(const UnderstoodModel& model, const SourceSet& sources, Diagnostics& diagnostics);

// Whether a batch can be cut at all: into two parts, as on one device.
bool CanTakeMicroBatches(const UnderstoodModel& model, const SourceSet& sources);

// Adds E0315 for a plan whose ops cannot be cut into `count` micro-batches; `why` is what Partition says.
void AddUnevenMicroBatches(const UnderstoodModel& model, int64_t count, const std::string& why,
                           Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_MICRO_BATCHES_H_
