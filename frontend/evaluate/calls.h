// Calls. The name of a call is looked up in this order: a function or an op (frontend/functions), a primitive of manual
// models, a word of the language.
#ifndef CLEAVE_FRONTEND_EVALUATE_CALLS_H_
#define CLEAVE_FRONTEND_EVALUATE_CALLS_H_

#include "frontend/evaluate/pieces.h"

namespace cleave::frontend {

Value EvaluateCall(const CallSite& site, Pieces& pieces);

// `layer dense(8)` as a value.
Value EvaluateLayer(const dsl::syntax::Layer& layer, Span span, Frame& frame, Pieces& pieces);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_CALLS_H_
