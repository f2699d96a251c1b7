// Private to runtime/tokenizer/bpe: the tokens that stand before every text.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_TEMPLATE_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_TEMPLATE_H_

#include <cstdint>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"

namespace cleave::runtime {

// Of the member `post_processor`, of type TemplateProcessing, ByteLevel, or Sequence of them; null for none. Tokens
// behind a text are an Error: a text that goes on has no end yet.
Result<std::vector<int32_t>> ReadTemplatePrefix(const Json* json);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_TEMPLATE_H_
