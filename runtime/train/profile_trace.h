// Private to runtime/train: the steps that a profile has measured as a timeline (`--profile FILE`,
// docs/formats/trace.md).
//
//   const PlannedWork planned = ReadPlannedWork(folder);
//   std::string events = EventsOf(comm.rank(), measured, planned);
#ifndef CLEAVE_RUNTIME_TRAIN_PROFILE_TRACE_H_
#define CLEAVE_RUNTIME_TRAIN_PROFILE_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/trace/trace.h"

namespace cleave::runtime {

// What the plan says of the ops of a program, by places of names: those of all layers are one, "x.#.norm1.layer_norm".
struct PlannedOp {
  std::string kind;     // "products"
  std::string what;     // "matmul [256,784] x [784,512] -> f32[256,512]", "all_reduce"
  std::string read_by;  // Of what another rank sends: its first reader; empty where that is not known.
};
struct PlannedWork {
  int64_t micro_batches = 1;
  std::map<std::string, PlannedOp> ops;
};

// From the plan.json beside a program. Where there is none that can be read, nothing is known.
PlannedWork ReadPlannedWork(const std::string& folder);

// The name with '#' for each number between its dots, as in base/layer_names.
std::string PlaceOfName(const std::string& name);

// Times are seconds of a clock that all ranks read alike.
struct MeasuredOp {
  OpName op;
  int line = 0;
  double begin = 0;
  double end = 0;
  bool communicates = false;
};
struct MeasuredStep {
  int64_t number = 0;   // From 1.
  size_t first_op = 0;  // In MeasuredOps::ops.
  double begin = 0;
  double end = 0;
};
struct MeasuredMemory {
  double at = 0;
  int64_t workspace = 0;  // The most that was taken so far.
};
struct MeasuredOps {
  const char* model_file = "";
  int64_t arena = 0;
  std::vector<MeasuredOp> ops;
  std::vector<MeasuredStep> steps;
  std::vector<MeasuredMemory> memory;
};

// TraceEvents::Text (runtime/json/trace_events.h). `zero`: the time that is written as 0.
std::string EventsOf(int rank, const MeasuredOps& measured, const PlannedWork& planned, double zero);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_PROFILE_TRACE_H_
