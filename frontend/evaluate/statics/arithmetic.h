// Arithmetic on static values: ints as in Rust (checked, division towards zero), floats as in IEEE 754 but finite; an
// int next to a float counts as a float. A number that differs between ranks is computed rank by rank.
//
//   Arithmetic(`7 / 2`, Value{7}, Value{2}, graph, reporter) == Value{3}
//
// A mistake is reported and gives Poison. REQUIRES of all functions: no value is Poison.
#ifndef CLEAVE_FRONTEND_EVALUATE_STATICS_ARITHMETIC_H_
#define CLEAVE_FRONTEND_EVALUATE_STATICS_ARITHMETIC_H_

#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/report/report.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

// `left op right`, for all operators of the language but those of statics/logic.h. `graph` is needed to describe
// tensors in messages and to know the ranks.
Value Arithmetic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const ir::Graph& graph,
                 Reporter& reporter);

// `-value` of a static number; `span`: the whole expression.
Value NegateNumber(const Value& value, Span span, const ir::Graph& graph, Reporter& reporter);

// `sqrt(head)`: the functions that take static numbers are `sqrt`, `exp`, `log`, `sin`, `cos` and `floor` of one, and
// `minimum`, `maximum` and `pow` of two. Nullopt if `name` is none of them, or not all values are numbers.
std::optional<Value> StaticFunction(const std::string& name, const std::vector<Value>& values, Span span,
                                    const ir::Graph& graph, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_STATICS_ARITHMETIC_H_
