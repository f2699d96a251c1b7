// Formulas of the training step as C++, computed in double: the learning rate, Adam's corrections.
#ifndef CLEAVE_CODEGEN_SOURCE_FORMULA_TEXT_H_
#define CLEAVE_CODEGEN_SOURCE_FORMULA_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "ir/graph/scalar/scalar.h"

namespace cleave::codegen {

// What a formula's names are written as. A number that is not named here is written as it is.
struct FormulaNames {
  std::string step = {};
  std::map<std::string, std::string> numbers = {};
};

// The value of a formula: "1.0 / (1.0 - std::pow(0.9, step))". REQUIRES: it is what ir::ParseScalar gives.
std::string FormulaText(const ir::Scalar& formula, const FormulaNames& names);

// The same as a condition: "beta1 < 1.0".
std::string ConditionText(const ir::Scalar& formula, const FormulaNames& names);

// The statements of a function of `step` that returns the value. What makes a line too long gets a constant.
std::vector<std::string> FormulaStatements(const ir::Scalar& formula, const FormulaNames& names);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_FORMULA_TEXT_H_
