// Statements: binds names, unrolls loops, and sets the paths of the ops that calls make.
#ifndef CLEAVE_FRONTEND_EVALUATE_STATEMENTS_H_
#define CLEAVE_FRONTEND_EVALUATE_STATEMENTS_H_

#include <vector>

#include "frontend/evaluate/pieces.h"

namespace cleave::frontend {

// Runs the statements of the model or of a function, until one returns, an assertion fails or the budget is exhausted.
void RunStatements(const std::vector<dsl::syntax::Statement>& body, Frame& frame, Pieces& pieces);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_STATEMENTS_H_
