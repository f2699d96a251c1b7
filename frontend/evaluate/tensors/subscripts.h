// `x[a .. b, i]`: a slice, and a reshape that drops the dimensions of which an index takes one element. The begin of a
// range may differ between ranks, its length may not. `parts[0]` takes an element of a tuple.
#ifndef CLEAVE_FRONTEND_EVALUATE_TENSORS_SUBSCRIPTS_H_
#define CLEAVE_FRONTEND_EVALUATE_TENSORS_SUBSCRIPTS_H_

#include "frontend/evaluate/frame/context.h"

namespace cleave::frontend {

Value EvaluateIndex(const dsl::syntax::Index& index, Span span, Frame& frame, const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_TENSORS_SUBSCRIPTS_H_
