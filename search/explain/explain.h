// The reasons of a plan as text of at most 100 columns.
//
//   const Explained explained{.graph = graph, .plan = plan, .made = program, ...};
//   std::cout << ExplainPlan(explained);
//   std::cout << ExplainMemory(explained) << ExplainPlans(explained) << ExplainTime(explained, 0);
//   absl::StatusOr<std::string> text = ExplainOp(explained, "h1.matmul");
#ifndef CLEAVE_SEARCH_EXPLAIN_EXPLAIN_H_
#define CLEAVE_SEARCH_EXPLAIN_EXPLAIN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/json/json.h"
#include "ir/graph/graph.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/memory/memory.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/execution.h"
#include "search/price/cost/pipeline.h"
#include "search/price/cost/predict.h"

namespace cleave::search {

// A plan and what was made from it.
struct Explained {
  const ir::Graph& graph;
  const ir::Plan& plan;
  const Cluster& cluster;          // For which it was found.
  const Execution& execution;      // Of the target.
  const ir::LoweredProgram& made;  // ProgramOf(graph, plan, cluster, execution)
  Prediction predicted;
  const ir::Pins& pins;  // The plan was found with them.
};

// What each rank needs under the plan (overview.h), its cost under every price with bound and gap; then two tables: the
// ops that a search, pin or rule decided (strategy, cost, its share, who decided and why), and the collectives of a
// step (bytes sent per rank, share, cause). Equal layers are listed once.
std::string ExplainPlan(const Explained& explained);

// Memory against time (FrontierOf): peak and step of the plan without recomputation, with the least memory, and for
// some choices between, its own marked; why that one was chosen, and what it makes again. Makes some programs.
std::string ExplainMemory(const Explained& explained);

// The plans that other settings give: one row for plans with equal predictions, with the settings as for the command
// line, the predicted step, and why it differs; and which settings have no plan, and why. Makes a search and a program
// for each.
std::string ExplainPlans(const Explained& explained);

// The passes of a pipeline as a grid, ranks down and time across, and the time and memory of each stage. `parts`: the
// program of each group of ranks.
std::string ExplainSchedule(const PipelinePrediction& pipeline, absl::Span<const ir::PartProgram> parts);

// The parts of a rank's predicted step (ledger.h): kernels with their runs, time, work, memory and limit; collectives;
// totals by kind; products by shape; and how these sum to the step. Equal layers are one line. REQUIRES: the plan has
// the rank.
std::string ExplainTime(const Explained& explained, int rank);

// The kernels, collectives and copies of ExplainTime for other programs: a line of JSON for each (docs/cost.md).
// REQUIRES: the plan has the rank.
std::string ExplainKernels(const Explained& explained, int rank);

// The same for plan.json, of ranks of all parts of a pipeline, with the names by which a program shows what it does
// (ShownSteps): the field `kernels` of docs/formats/plan.md.
Json KernelsOfPlan(const Explained& explained);

// One op: strategy, layouts, reason, alternatives with the parts of their costs, what would have to change for one of
// them to be better, and its collectives. A NotFound error suggests the nearest name.
absl::StatusOr<std::string> ExplainOp(const Explained& explained, absl::string_view name);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_EXPLAIN_H_
