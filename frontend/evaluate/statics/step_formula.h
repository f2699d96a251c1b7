// Numbers that the training step decides, in optimizers and learning rates: what is computed from `step` is a formula
// (StepValue), which the program computes in double once a step. A mistake is reported and gives Poison.
#ifndef CLEAVE_FRONTEND_EVALUATE_STATICS_STEP_FORMULA_H_
#define CLEAVE_FRONTEND_EVALUATE_STATICS_STEP_FORMULA_H_

#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/report/report.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

// The step itself.
Value StepNumber();

// A number that is the same in every step, as a formula. REQUIRES: value.is_number() or value.is_of_step().
StepValue ToFormula(const Value& value);

// `left op right`, of which at least one depends on the step.
Value StepArithmetic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const ir::Graph& graph,
                     Reporter& reporter);

// `-value`. REQUIRES: value.is_of_step().
Value NegateOfStep(const Value& value, Span span, const ir::Graph& graph, Reporter& reporter);

// `left && right` or `left || right`, and `!value`. REQUIRES: the values are bools of the step.
Value LogicOfStep(const dsl::syntax::Binary& binary, const StepValue& left, const StepValue& right, Reporter& reporter);
Value NotOfStep(const StepValue& value, Span span, Reporter& reporter);

// The function of so many numbers that the language knows by this name, such as `cos`, `floor` and `pow`.
std::optional<ir::ScalarFunction> NumberFunction(const std::string& name, size_t arguments);

// Such a function of values some of which depend on the step. Nullopt if there is none, or they are not all numbers.
std::optional<Value> StepFunction(const std::string& name, const std::vector<Value>& values, Span span,
                                  Reporter& reporter);

// `choose(condition, then, otherwise)` of numbers. Nullopt where they are none. REQUIRES: the condition is a bool of
// the step.
std::optional<Value> ChooseByStep(const Value& condition, const Value& then, const Value& otherwise, Span span,
                                  Reporter& reporter);

// The value of a formula in double. REQUIRES: step >= 1.
double ValueAtStep(const StepValue& value, double step);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_STATICS_STEP_FORMULA_H_
