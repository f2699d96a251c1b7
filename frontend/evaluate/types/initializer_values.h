// Initialisers as values: of a `param`, or of an argument whose type is `initializer`; and the file of an `input`.
#ifndef CLEAVE_FRONTEND_EVALUATE_TYPES_INITIALIZER_VALUES_H_
#define CLEAVE_FRONTEND_EVALUATE_TYPES_INITIALIZER_VALUES_H_

#include <optional>
#include <string>

#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

// A call of an initialiser, `normal(deviation = 0.02)`, or the name of an argument that is one. Poison after a mistake.
Value EvaluateInitializer(const dsl::syntax::Expression& expression, Frame& frame, const Context& context);

// `npy("edge.npy")` or `npy("edge.npy", per_step = true)` behind an input.
struct FileOfInput {
  std::string path;
  bool is_per_step = false;
};
std::optional<FileOfInput> EvaluateFileOfInput(const dsl::syntax::Expression& expression, Frame& frame,
                                               const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_TYPES_INITIALIZER_VALUES_H_
