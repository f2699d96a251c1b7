// Words that only manual models may use: `world`, `rank`, `#[local]`; and the error for using them elsewhere.
#ifndef CLEAVE_FRONTEND_EVALUATE_RANKS_MANUAL_MODEL_H_
#define CLEAVE_FRONTEND_EVALUATE_RANKS_MANUAL_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/report/report.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

// The place of the model, for messages. The ranks of a manual model are known only when the `parallel` block has been
// read; then its graph is manual.
struct ManualModel {
  std::optional<Span> name;
  std::optional<Span> attribute;  // `#[manual]`; nothing for a model of one device.
};

// The value of `world` or `rank`; nothing for another name. Poison after a mistake.
std::optional<Value> RankName(const std::string& name, Span span, const ManualModel& model, const ir::Graph& graph,
                              Reporter& reporter);

// Reports `what` at `span`, in a model without ranks.
void ReportNotManual(const std::string& what, Span span, std::string label, const ManualModel& model,
                     Reporter& reporter);

// Whether `#[local]` is among the attributes of a `param`, so that each rank has its own. Removes it.
bool TakeLocal(std::vector<dsl::syntax::Attribute>& attributes, const ManualModel& model, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RANKS_MANUAL_MODEL_H_
