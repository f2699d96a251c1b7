// For tests: expands the body of a model by itself, without the prelude, and keeps ops that nothing needs.
#ifndef CLEAVE_FRONTEND_EVALUATE_TESTING_H_
#define CLEAVE_FRONTEND_EVALUATE_TESTING_H_

#include <string>

#include "frontend/evaluate/expansion.h"

namespace cleave::frontend {

struct Expanded {
  Expansion expansion;
  std::string messages;  // "E0201: unknown name `y`", one per line.

  // "y.relu(x): f32[8, 6]" for each op after the input x, one per line; after a mistake the messages instead.
  std::string Text() const;
};

// `body` after `input x: f32[8, 6];`; unless it has a loss, a loss that adds no op follows. `rest`: functions of the
// file.
Expanded ExpandBody(const std::string& body, const std::string& rest = "");

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_TESTING_H_
