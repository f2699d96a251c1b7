// The reasons of a plan as text of at most 100 columns.
//
//   std::cout << ExplainPlan(graph, plan, program);
//   absl::StatusOr<std::string> text = ExplainOp(graph, plan, distributed, program, "h1.matmul");
#ifndef CLEAVE_SEARCH_EXPLAIN_EXPLAIN_H_
#define CLEAVE_SEARCH_EXPLAIN_EXPLAIN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/distribute/distribute.h"
#include "ir/graph/graph.h"
#include "ir/plan/plan.h"
#include "ir/program/program.h"

namespace cleave {

// Two tables: the ops that were decided for themselves (strategy, cost at the decision, its share of the plan's cost,
// who decided), and the collectives of a step (bytes sent per rank, share, cause). `program` is what Partition makes of Distribute(graph, plan).
std::string ExplainPlan(const Graph& graph, const Plan& plan, const Program& program);

// Everything known of one op: strategy, layouts, reason, every choice with its cost against the chosen one, its
// collectives. A NotFound error names the nearest op.
absl::StatusOr<std::string> ExplainOp(const Graph& graph, const Plan& plan, const Distributed& distributed,
                                      const Program& program, absl::string_view name);

}  // namespace cleave

#endif  // CLEAVE_SEARCH_EXPLAIN_EXPLAIN_H_
