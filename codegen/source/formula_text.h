// Formulas of the training step as C++, computed in double: the learning rate, Adam's corrections.
#ifndef CLEAVE_CODEGEN_SOURCE_FORMULA_TEXT_H_
#define CLEAVE_CODEGEN_SOURCE_FORMULA_TEXT_H_

#include <string>
#include <vector>

#include "ir/graph/scalar/scalar.h"

namespace cleave::codegen {

// The value of a formula in `step`, for which `step` is written: "1.0 / (1.0 - std::pow(0.9, step))". REQUIRES: it is
// what ir::ParseScalar gives.
std::string FormulaText(const ir::Scalar& formula, const std::string& step);

// The statements of a function of `step` that returns the value. What makes a line too long gets a constant.
std::vector<std::string> FormulaStatements(const ir::Scalar& formula, const std::string& step);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_FORMULA_TEXT_H_
