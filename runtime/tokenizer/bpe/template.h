// Private to runtime/tokenizer/bpe: the tokens that stand before every text and behind it.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_TEMPLATE_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_TEMPLATE_H_

#include <cstdint>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"

namespace cleave::runtime {

struct AroundText {
  std::vector<int32_t> before, behind;
};

// Of the member `post_processor`, of type TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, or Sequence
// of them; null for none.
Result<AroundText> ReadTemplate(const Json* json);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_TEMPLATE_H_
