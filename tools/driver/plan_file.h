// A plan from a file (docs/formats/plan.md) instead of from a search.
#ifndef CLEAVE_TOOLS_DRIVER_PLAN_FILE_H_
#define CLEAVE_TOOLS_DRIVER_PLAN_FILE_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "tools/driver/compiled_model.h"
#include "tools/driver/options.h"

namespace cleave::tools {

// The plan in `options.plan_file`, on the machines that it was made for, which it knows by name only. nullopt after
// E0604 where the file cannot be read, or does not fit the model, `--devices` or `--cluster`; and after the errors of
// ResolveCluster (search/model/cluster). Where sequences lie in zigzag order in the plan, `model` becomes what
// `in_zigzag` makes of it for so many pairs; nullopt where it makes nothing.
std::optional<PlannedModel> ReadPlanFile(const CompileOptions& options, UnderstoodModel& model,
                                         const std::function<std::optional<UnderstoodModel>(int64_t pairs)>& in_zigzag,
                                         Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_PLAN_FILE_H_
