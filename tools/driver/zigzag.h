// Whether the rows of sequences lie in zigzag order (ir/transforms/zigzag): what asks for it, and how a plan says so.
#ifndef CLEAVE_TOOLS_DRIVER_ZIGZAG_H_
#define CLEAVE_TOOLS_DRIVER_ZIGZAG_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "tools/driver/compiled_model.h"

namespace cleave::tools {

// Reports E0508 and returns false where the model asks for pairs in which no rows can lie. REQUIRES: it asks for some.
bool CheckZigzag(const UnderstoodModel& model, Diagnostics& diagnostics);

// In how many pairs a second plan may be faster than this one: as many as it cuts queries of causal attention into
// pieces. 0 where it cuts none, where the model leaves no choice, where memory is the objective, and, as the reason of
// the attention says, where rows cannot lie so and where a GPU's library computes attention, which knows no such order.
int64_t PairsWorthTrying(const UnderstoodModel& model, const std::string& target, ir::Plan& plan);

// Notes in a plan, and in the reasons of causal attention of its graph, in which order rows lie, and why.
void TakeZigzag(const ir::Graph& graph, int64_t pairs, const std::string& why, ir::Plan& plan);
void KeepOwnOrder(const ir::Graph& graph, int64_t pairs, const std::string& why, ir::Plan& plan);

// "a step takes 1.2 ms in place of 3.4 ms"
std::string InPlaceOf(Seconds taken, Seconds other);
// The same of a plan that is kept; `zigzag` is nullopt where no such plan was found.
std::string WhyOwnOrder(Seconds own, std::optional<Seconds> zigzag);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_ZIGZAG_H_
