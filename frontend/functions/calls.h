// Visits the calls that stand in a piece of syntax, without expanding anything.
#ifndef CLEAVE_FRONTEND_FUNCTIONS_CALLS_H_
#define CLEAVE_FRONTEND_FUNCTIONS_CALLS_H_

#include <functional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"

namespace cleave::frontend {

// `visit(name, span)` for each call of a name, arguments included, attributes excluded; `vmap(f)` calls f.
using CallVisitor = std::function<void(const std::string& callee, Span span)>;

void ForEachCall(const dsl::syntax::Expression& expression, const CallVisitor& visit);
void ForEachCall(const std::vector<dsl::syntax::Statement>& body, const CallVisitor& visit);

// The names of the `param`s that stand in the body, loops included.
std::vector<std::string> DeclaredParameters(const std::vector<dsl::syntax::Statement>& body);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_FUNCTIONS_CALLS_H_
