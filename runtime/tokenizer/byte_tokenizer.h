// Bytes as tokens, numbered as for training on a text.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BYTE_TOKENIZER_H_
#define CLEAVE_RUNTIME_TOKENIZER_BYTE_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/tokenizer/tokenizer.h"

namespace cleave::runtime {

// Numbers bytes as `data tokens(path)` does for a model with tokens below `limit`: ByteNumbers, of the same text. A
// byte without a number is an Error that names it and its place. There are no special tokens.
Result<std::unique_ptr<Tokenizer>> OpenByteTokenizer(const std::string& path, int64_t limit);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BYTE_TOKENIZER_H_
