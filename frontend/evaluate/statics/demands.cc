#include "frontend/evaluate/statics/demands.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/statics/step_formula.h"

namespace cleave::frontend {

void Demands::Add(const ir::Scalar& condition, std::string otherwise) {
  ir::NumberDemand demand{.condition = ir::ScalarText(condition), .otherwise = std::move(otherwise)};
  if (std::find(all_.begin(), all_.end(), demand) == all_.end()) all_.push_back(std::move(demand));
}

Value Demands::Settled(const Value& value) {
  if (!value.is_of_step() || !value.as_of_step().is_settled()) return value;
  const StepValue& settled = value.as_of_step();
  const double number = ValueAtStep(settled, 1);
  std::vector<std::string> names;
  for (const ir::Scalar& node : ir::NodesOf(settled.formula)) {
    const bool is_new = std::find(names.begin(), names.end(), node.name()) == names.end();
    if (!node.name().empty() && is_new) names.push_back(node.name());
  }
  const ir::Scalar same = !settled.is_condition ? ir::Equal(settled.formula, number)
                          : number != 0         ? settled.formula
                                                : ir::Equal(settled.formula, 0);
  Add(same, absl::StrCat("another program would be needed, because ", QuotedList(names, "and"),
                         names.size() == 1 ? " decides" : " decide", " what it computes: compile the model again"));
  if (settled.is_condition) return Value{number != 0};
  return settled.is_whole ? Value{static_cast<int64_t>(number)} : Value{number};
}

}  // namespace cleave::frontend
