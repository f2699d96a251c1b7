// Visits the calls and the names in a piece of syntax, without expanding anything.
#ifndef CLEAVE_FRONTEND_FUNCTIONS_CALLS_H_
#define CLEAVE_FRONTEND_FUNCTIONS_CALLS_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "dsl/syntax/syntax.h"

namespace cleave::frontend {

// Called for each call of a name, also in arguments, but not in attributes; `vmap(f)` counts as a call of f.
using CallVisitor = std::function<void(const std::string& callee, Span span)>;

void ForEachCall(const dsl::syntax::Expression& expression, const CallVisitor& visit);
void ForEachCall(const std::vector<dsl::syntax::Statement>& body, const CallVisitor& visit);

// Called for each call, also in arguments, but not in attributes.
void ForEachCall(const dsl::syntax::Expression& expression,
                 const std::function<void(const dsl::syntax::Call& call)>& visit);

// Called for each use of a name, also in types and initialisers, but not in attributes.
using NameVisitor = std::function<void(const std::string& name)>;

void ForEachName(const dsl::syntax::Expression& expression, const NameVisitor& visit);
void ForEachName(absl::Span<const dsl::syntax::Statement> body, const NameVisitor& visit);

// The names that a function uses as values or calls, and does not define.
std::set<std::string> FreeNames(const dsl::syntax::Function& function);

// The names of the `param`s in the body, those of its loops and of all branches of an `if` included.
std::vector<std::string> DeclaredParameters(const std::vector<dsl::syntax::Statement>& body);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_FUNCTIONS_CALLS_H_
