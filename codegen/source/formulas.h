// Formulas of the training step as C++, computed in double: the learning rate, Adam's corrections.
#ifndef CLEAVE_CODEGEN_SOURCE_FORMULAS_H_
#define CLEAVE_CODEGEN_SOURCE_FORMULAS_H_

#include <map>
#include <string>

#include "codegen/cpp/cpp.h"
#include "ir/graph/scalar/scalar.h"

namespace cleave::codegen {

// What a formula's names are written as. A number that is not named here is written as it is.
struct FormulaNames {
  cpp::Expr step = {};
  std::map<std::string, std::string> numbers = {};
};

// The value of a formula: "1.0 / (1.0 - std::pow(0.9, step))". REQUIRES: it is what ir::ParseScalar gives.
cpp::Expr FormulaExpr(const ir::Scalar& formula, const FormulaNames& names);

// The same as a condition: "beta1 < 1.0".
cpp::Expr FormulaCondition(const ir::Scalar& formula, const FormulaNames& names);

// The statements of a function of `step` that returns the value. What makes a line too long gets a constant.
cpp::Code FormulaStatements(const ir::Scalar& formula, const FormulaNames& names);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_FORMULAS_H_
