// The predicted step of a plan as a timeline for chrome://tracing and Perfetto, in the format and with the names in
// which a program writes its measured steps (runtime/json/trace_events.h, docs/formats/trace.md).
//
//   CLEAVE_RETURN_IF_ERROR(CheckTracePlace("step.json"));
//   CLEAVE_RETURN_IF_ERROR(WriteTrace("step.json", PredictedTrace(explained, pipeline)));
#ifndef CLEAVE_TOOLS_TRACE_TRACE_H_
#define CLEAVE_TOOLS_TRACE_TRACE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "search/explain/explain.h"
#include "search/price/cost/pipeline.h"

namespace cleave::tools {

// `pipeline`: where the plan is one. Without one the events are those of rank 0, as all ranks are alike; of a pipeline,
// those of a rank of each part. The same arguments give the same bytes.
std::string PredictedTrace(const search::Explained& explained, const search::PipelinePrediction* pipeline);

// The trace with the measured steps that a program has written to `path` (--profile FILE), in processes of their own.
// InvalidArgument where the file cannot be read or is no such timeline.
absl::StatusOr<std::string> WithMeasured(std::string trace, const std::string& path);

// An error where `path` is something else than such a trace: FailedPrecondition; Unavailable where it cannot be read.
absl::Status CheckTracePlace(const std::string& path);

// Writes the trace, where CheckTracePlace allows it. Unavailable where it cannot.
absl::Status WriteTrace(const std::string& path, const std::string& trace);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_TRACE_TRACE_H_
