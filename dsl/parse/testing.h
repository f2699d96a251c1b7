// For tests: parses text that has mistakes in it.
#ifndef CLEAVE_DSL_PARSE_TESTING_H_
#define CLEAVE_DSL_PARSE_TESTING_H_

#include <string>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"

namespace cleave::dsl {

// The errors of `text`, which is called `test.model`; fails the test when there are none.
Diagnostics ParseBad(const std::string& text, SourceSet& sources);

// Fails the test unless `text` gets exactly these errors, as people read them. `expected` begins with a newline, so
// that it is below the text to which it belongs.
void CheckErrors(const std::string& text, const std::string& expected);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_TESTING_H_
