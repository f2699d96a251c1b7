// A plan from a file (docs/formats/plan.md) instead of from a search.
#ifndef CLEAVE_TOOLS_DRIVER_PLAN_FILE_H_
#define CLEAVE_TOOLS_DRIVER_PLAN_FILE_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "tools/driver/compiled_model.h"
#include "tools/driver/options.h"

namespace cleave::tools {

// The plan in `options.plan_file`, on the machines that it was made for, which it knows by name only. nullopt after
// E0604 where the file cannot be read, or does not fit the model, `--devices` or `--cluster`; and after the errors of
// ResolveCluster (search/model/cluster).
std::optional<PlannedModel> ReadPlanFile(const CompileOptions& options, const UnderstoodModel& model,
                                         Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_PLAN_FILE_H_
