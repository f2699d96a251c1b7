// plan.json (docs/formats/plan.md): writing a plan with everything that a reader wants to know about it, and reading it
// back.
//
// Other programs read it. Fields may be added; a field that exists keeps its name, type and unit.
#ifndef CLEAVE_IR_PROGRAM_PLAN_JSON_PLAN_JSON_H_
#define CLEAVE_IR_PROGRAM_PLAN_JSON_PLAN_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"
#include "base/json/json.h"
#include "base/source/source.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/memory/memory.h"
#include "ir/program/program.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::ir {

// What is known about the plan besides itself.
struct PlanFacts {
  // For one training step (search/price/cost). The step is shorter than the sum of the other two where they overlap.
  Seconds predicted_step;
  Seconds predicted_compute;
  Seconds predicted_communication;
  double sent_bytes_per_rank = 0;
  MemoryPrediction memory;
  Bytes communicators;                    // What libraries of collectives take of a device's memory besides.
  Json kernels = Json::array();           // What a step is made of (docs/formats/plan.md), as it is written.
  const Diagnostics* warnings = nullptr;  // Those of severity kWarning are listed; may be null.
  const SourceSet* sources = nullptr;     // Where the warnings' labels lie; may be null when there are none.
};

// The text ends with a newline. The same arguments give the same bytes.
std::string PlanJson(const Graph& graph, const Plan& plan, const Program& program, const PlanFacts& facts);

// In how many pairs sequences lie in zigzag order in the graph of the plan in `text`; 0: in their own order. Errors as
// below.
absl::StatusOr<int64_t> ZigzagOfPlanJson(absl::string_view text);

// The plan in `text` for `graph`. What follows from the plan (tensors, collectives, predictions, counts) is not read.
// An InvalidArgument error says where in the file something is wrong: broken JSON, a duplicate key, an unknown field,
// another model's hash, an op or factor that the graph does not have, a strategy that its rule does not allow.
absl::StatusOr<Plan> ParsePlanJson(absl::string_view text, const Graph& graph);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PLAN_JSON_PLAN_JSON_H_
