// Tokenizers in files tokenizer.json, the format of Hugging Face's library tokenizers: BPE, byte-level as in GPT-2,
// LLaMA 3 and Qwen or in the manner of SentencePiece as in LLaMA 2, WordPiece as in BERT, and Unigram as in T5.
//
//   Result<std::unique_ptr<Tokenizer>> tokenizer = OpenTokenizerJson("tokenizer.json");
//
// Its tokens are those of the library's encode() with special tokens. Texts must be UTF-8; each place that is not is an
// Error that names it. Detokenized bytes that are not UTF-8 stay as they are. Every Error has exit code 3.
//
// Format: https://huggingface.co/docs/tokenizers
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_TOKENIZER_JSON_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_TOKENIZER_JSON_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/tokenizer/tokenizer.h"

namespace cleave::runtime {

struct TextRange {
  size_t begin;
  size_t end;
};

// The tokens of a text alone, without those that stand before every text.
struct TextEncoding {
  // A place of the text among its tokens: how many end at or before it, and how many begin before it.
  struct Cut {
    size_t ended;
    size_t begun;
  };
  std::vector<int32_t> tokens;
  std::vector<Cut> cuts;    // Of the places that were asked for.
  int64_t passed_over = 0;  // Texts of special tokens that are no tokens.
};

// Encodes many texts for whoever prepares data.
class TextTokenizer : public Tokenizer {
 public:
  // What one thread remembers of the pieces of texts, most of which come again.
  class Memory {
   public:
    virtual ~Memory() = default;
  };
  virtual std::unique_ptr<Memory> NewMemory() const = 0;

  // Within `literal`, ranges in order, and across their borders no text is a special token: what a user has written is
  // no mark for the model. `places`: in order, where characters begin. REQUIRES: NewMemory of this made `memory`.
  virtual Result<TextEncoding> EncodeText(const std::string& text, const std::vector<TextRange>& literal,
                                          const std::vector<size_t>& places, Memory& memory) const = 0;

  // The tokens that stand before every text, and behind it.
  virtual const std::vector<int32_t>& prefix() const = 0;
  virtual const std::vector<int32_t>& suffix() const = 0;

  // A token as the vocabulary writes it; empty where there is none.
  virtual std::string Content(int32_t token) const = 0;
};

// An Error that names what the file asks for where that is not done here: nothing in it is passed over. To
// OpenTokenizerJson, tokens behind every text are one: a text that goes on has no end yet.
Result<std::unique_ptr<Tokenizer>> OpenTokenizerJson(const std::string& path);
Result<std::unique_ptr<TextTokenizer>> OpenTextTokenizer(const std::string& path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_TOKENIZER_JSON_H_
