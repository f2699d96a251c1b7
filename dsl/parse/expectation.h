// The wording of "expected … after …".
#ifndef CLEAVE_DSL_PARSE_EXPECTATION_H_
#define CLEAVE_DSL_PARSE_EXPECTATION_H_

#include <antlr4-runtime.h>

#include <string>

#include "absl/strings/string_view.h"

namespace cleave::dsl {

// What the parser would accept, in words: "an expression", "`,` or `)`", "a name". `rule` is its present grammar rule.
// Operators that could continue an expression are left out if something else is possible too.
std::string DescribeExpected(const antlr4::misc::IntervalSet& expected, size_t rule);

// A token that was read, in words: "`let`", "the string", "the end of the file".
std::string DescribeToken(size_t type, absl::string_view text);

// A reserved word of the language (as opposed to words that are names elsewhere).
bool IsReservedWord(size_t type);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_EXPECTATION_H_
