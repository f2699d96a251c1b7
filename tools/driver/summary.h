// The text that a compile prints at its end.
#ifndef CLEAVE_TOOLS_DRIVER_SUMMARY_H_
#define CLEAVE_TOOLS_DRIVER_SUMMARY_H_

#include <string>

#include "base/units/units.h"
#include "search/explain/explain.h"
#include "tools/driver/compiled_model.h"
#include "tools/driver/options.h"

namespace cleave::tools {

// The plan of a compile with its predictions. REQUIRES: `compiled` outlives the result.
search::Explained ExplainedOf(const CompiledModel& compiled);

// "checked statically on all 8 ranks; not proven by simulation: …": what was proven of a plan.
std::string ProofText(const Proof& proof);

// Ranks, algorithm, collectives and bytes, in a line.
std::string PlanLine(const CompiledModel& compiled);

// This line; for a plan alone also what it needs on each rank; then what was proven, and
// the time that the compile took.
std::string Summary(const CompileOptions& options, const CompiledModel& compiled, Seconds taken);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_SUMMARY_H_
