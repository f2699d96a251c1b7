// Whether the batch of a model can be taken in micro-batches.
#ifndef CLEAVE_TOOLS_DRIVER_MICRO_BATCHES_H_
#define CLEAVE_TOOLS_DRIVER_MICRO_BATCHES_H_

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "ir/sharding/plan/plan.h"
#include "tools/driver/compiled_model.h"

namespace cleave::tools {

// Returns false after E0315, which names an op, its line and the largest number that works: `micro_batches` is more
// than one device could take the batch in.
bool CheckMicroBatches(const UnderstoodModel& model, const SourceSet& sources, Diagnostics& diagnostics);

// The same as the first for a plan, whose ranks divide the samples of each micro-batch.
bool CheckMicroBatches(const UnderstoodModel& model, const ir::Plan& plan, const SourceSet& sources,
                       Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_MICRO_BATCHES_H_
