// `stack` makes one tensor of a tuple of tensors, `split` makes a tuple of one tensor. Neither is an op: they become
// reshapes and a concatenation, or slices.
#ifndef CLEAVE_FRONTEND_EVALUATE_TENSORS_TUPLES_H_
#define CLEAVE_FRONTEND_EVALUATE_TENSORS_TUPLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "frontend/evaluate/frame/context.h"

namespace cleave::frontend {

// `stack((a, b), axis = 0)`: tensors of one shape along a new dimension.
Value Stack(const CallSite& site, const Context& context);

// `split(x, 3, axis = 1)` gives a tuple of three equal parts, `split(x, (2, 6), axis = 1)` parts of these sizes.
Value Split(const CallSite& site, const Context& context);

// The argument `axis`, counted from the front, for a tensor with `rank` dimensions; -1 is the last. Nullopt after a
// mistake.
std::optional<size_t> AxisArgument(const dsl::syntax::Expression& expression, const Value& value, int64_t rank,
                                   const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_TENSORS_TUPLES_H_
