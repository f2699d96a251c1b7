// Private to runtime/tokenizer/bpe: what is looked for in a text, as a tokenizer.json writes it: {"String": " "} or
// {"Regex": "\\p{N}+"}.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_PATTERN_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_PATTERN_H_

#include <string>

#include "runtime/error/error.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/pcre2/regex.h"

namespace cleave::runtime {

// The member `pattern` of an object.
Result<Regex> ReadPattern(const Fields& fields);

// A text in which `content` takes the place of each match.
Result<std::string> ReplaceAll(const Regex& pattern, const std::string& content, const std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_PATTERN_H_
