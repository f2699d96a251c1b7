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

// What each rank needs under the plan (overview.h), the cost of the whole under every price with bound and gap; then
// two tables: the ops that had a decision of their own (strategy, cost, its share, who decided and why), and the
// collectives of a step (bytes sent per rank, share, cause). Layers that are equal in all of this are listed once.
std::string ExplainPlan(const Explained& explained);

// Memory against time: what the plan's program takes when the backward pass makes nothing again, as much as saves
// memory, and some choices between these, with the plan's own; why that one was chosen, and what it makes again. Makes
// some programs.
std::string ExplainMemory(const Explained& explained);

// Whole plans beside the chosen one: those that other settings give, a row for all that take the same, with the
// settings as the command line takes them, what a step takes and in what that differs; and which settings have no plan,
// and why. Makes a search and a program for each.
std::string ExplainPlans(const Explained& explained);

// The passes of a pipeline as a grid, ranks down and time across, and what each stage takes. `parts`: the programs of
// all ranks.
std::string ExplainSchedule(const PipelinePrediction& pipeline, absl::Span<const ir::PartProgram> parts);

// What the predicted step of a rank is made of (ledger.h): each kernel with its time, work, memory and what limits it,
// as often as it runs; collectives; totals by kind; products by shape; and how these add up to the step. Equal layers
// are one line. REQUIRES: the plan has the rank.
std::string ExplainTime(const Explained& explained, int rank);

// Everything that is known about one op: strategy, layouts, reason, every choice with the parts of its cost, what would
// have to change for another choice to be better, and its collectives. A NotFound error names the nearest op.
absl::StatusOr<std::string> ExplainOp(const Explained& explained, absl::string_view name);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_EXPLAIN_H_
