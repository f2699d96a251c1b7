// Tokenizers in files tokenizer.json, the format of Hugging Face's library tokenizers, of the BPE kind: byte-level as
// in GPT-2, LLaMA 3 and Qwen, and in the manner of SentencePiece as in LLaMA 2.
//
//   Result<std::unique_ptr<Tokenizer>> tokenizer = OpenTokenizerJson("tokenizer.json");
//
// Its tokens are those of the library's encode() with special tokens. Texts must be UTF-8; each place that is not is an
// Error that names it. Detokenized bytes that are not UTF-8 stay as they are. Every Error has exit code 3.
//
// Format: https://huggingface.co/docs/tokenizers
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_TOKENIZER_JSON_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_TOKENIZER_JSON_H_

#include <memory>
#include <string>

#include "runtime/error/error.h"
#include "runtime/tokenizer/tokenizer.h"

namespace cleave::runtime {

// An Error that names what the file asks for where that is not done here: nothing in it is passed over.
Result<std::unique_ptr<Tokenizer>> OpenTokenizerJson(const std::string& path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_TOKENIZER_JSON_H_
