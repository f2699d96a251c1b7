// Private to runtime/tokenizer/bpe: bytes written as characters that can be seen. A byte that is a printable character
// of Latin-1 stands for itself, and the others, in order, are the characters from U+0100 on (GPT-2, Radford et al.
// 2019).
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_BYTE_LEVEL_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_BYTE_LEVEL_H_

#include <string>

namespace cleave::runtime {

// A character, in UTF-8, for each byte.
std::string CharactersOfBytes(const std::string& bytes);

// The bytes of which these are the characters; the text itself where one of them stands for no byte. REQUIRES: the text
// is UTF-8.
std::string BytesOfCharacters(const std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_BYTE_LEVEL_H_
