// Whether brackets match and how deeply they nest, decided before the parser runs: the generated parser recurses once
// per bracket, and a bracket that is never closed is best shown where it was opened.
#ifndef CLEAVE_DSL_PARSE_BRACKETS_H_
#define CLEAVE_DSL_PARSE_BRACKETS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "dsl/parse/tokens.h"

namespace cleave::dsl {

// Of a token's type.
bool IsOpening(size_t type);
bool IsClosing(size_t type);

// A bracket without its partner, and where that was noticed, as indices into Tokens::list.
struct BracketError {
  size_t opened = 0;   // The opening bracket; the same as `noticed` for a closing one that closes nothing.
  size_t noticed = 0;  // The token before which its partner should have come.
  bool is_brace = false;
  Diagnostic diagnostic;
};

struct BracketCheck {
  std::vector<BracketError> errors;
  bool too_deep = false;  // The last error is about depth; the parser must not see these tokens.
};

BracketCheck CheckBrackets(const Tokens& tokens, const TokenPlaces& places);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_BRACKETS_H_
