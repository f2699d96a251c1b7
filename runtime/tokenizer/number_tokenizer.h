// Numbers as tokens: for models whose data has no text.
#ifndef CLEAVE_RUNTIME_TOKENIZER_NUMBER_TOKENIZER_H_
#define CLEAVE_RUNTIME_TOKENIZER_NUMBER_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/tokenizer/tokenizer.h"

namespace cleave::runtime {

// A text is the tokens' numbers with white space between them: "464 2068". Tokens are below `limit`, or any number
// where it is 0. The path is not used.
Result<std::unique_ptr<Tokenizer>> OpenNumberTokenizer(const std::string& path, int64_t limit);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_NUMBER_TOKENIZER_H_
