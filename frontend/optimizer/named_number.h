// Numbers of the model that flags of its program change.
#ifndef CLEAVE_FRONTEND_OPTIMIZER_NAMED_NUMBER_H_
#define CLEAVE_FRONTEND_OPTIMIZER_NAMED_NUMBER_H_

#include <map>
#include <optional>
#include <string>

#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

// What the argument `parameter` of an optimizer, of a schedule or of a loss scale is, where it is a number: that of the
// model, which a flag of the name `name` changes, or one of the step. `given`: null for the default, which is one where
// it is written as a number. `names`: what else is known in the expression. Nullopt for anything else.
std::optional<Value> NamedNumber(const dsl::syntax::Parameter& parameter, const dsl::syntax::Argument* given,
                                 const std::string& name, const std::map<std::string, Value>& names,
                                 Evaluator& evaluator);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OPTIMIZER_NAMED_NUMBER_H_
