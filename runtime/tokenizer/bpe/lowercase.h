// Private to runtime/tokenizer/bpe: small letters of capital ones, character by character.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_LOWERCASE_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_LOWERCASE_H_

#include <string>

namespace cleave::runtime {

// REQUIRES: the text is UTF-8.
std::string LowercaseText(const std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_LOWERCASE_H_
