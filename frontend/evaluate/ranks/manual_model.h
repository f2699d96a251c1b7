// What only manual models may say: `world`, `rank`, `#[local]`; the mistake of saying it elsewhere.
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

// Where the model stands, for messages. The ranks of a manual model are known a little later than that it is one, when
// the `parallel` block has been read; then its graph is manual.
struct ManualModel {
  std::optional<Span> name;
  std::optional<Span> attribute;  // `#[manual]`; nothing for a model of one device.
};

// The value of `world` or `rank`; nothing for another name. Poison after a mistake.
std::optional<Value> RankName(const std::string& name, Span span, const ManualModel& model, const ir::Graph& graph,
                              Reporter& reporter);

// `what` stands at `span`, where there are no ranks.
void ReportNotManual(const std::string& what, Span span, std::string label, const ManualModel& model,
                     Reporter& reporter);

// Whether `#[local]` is among the attributes of a `param`: each rank has its own. Takes it out.
bool TakeLocal(std::vector<dsl::syntax::Attribute>& attributes, const ManualModel& model, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RANKS_MANUAL_MODEL_H_
