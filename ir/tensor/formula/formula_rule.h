// The sharding rule that a formula stands for on given shapes.
#ifndef CLEAVE_IR_TENSOR_FORMULA_FORMULA_RULE_H_
#define CLEAVE_IR_TENSOR_FORMULA_FORMULA_RULE_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/tensor/formula/formula.h"
#include "ir/tensor/rule/rule.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// Names are factors: those of `whole` are whole, other names of the output are parallel, names that stand in inputs
// only are reduced by sum. `linear` is left empty. A name that stands alone in some dimension has its size from there;
// a name that stands only in compound dimensions has it from the one in which it is the last unknown. An
// InvalidArgument error says, with numbers, which dimensions do not fit. REQUIRES: no name begins with `..`.
absl::StatusOr<Rule> RuleOfFormula(const Formula& formula, const std::set<std::string>& whole,
                                   const std::vector<Shape>& inputs, const Shape& output);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TENSOR_FORMULA_FORMULA_RULE_H_
