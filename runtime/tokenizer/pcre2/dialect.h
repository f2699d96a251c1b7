// Private to runtime/tokenizer/pcre2: what Oniguruma (in the syntax of Ruby) and PCRE2 read alike.
#ifndef CLEAVE_RUNTIME_TOKENIZER_PCRE2_DIALECT_H_
#define CLEAVE_RUNTIME_TOKENIZER_PCRE2_DIALECT_H_

#include <string>

#include "runtime/error/error.h"

namespace cleave::runtime {

// An expression for PCRE2 that matches what this one matches for Oniguruma. The Error names the part about which they
// may differ.
Result<std::string> ForPcre2(const std::string& expression);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_PCRE2_DIALECT_H_
