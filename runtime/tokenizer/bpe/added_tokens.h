// Private to runtime/tokenizer/bpe: tokens that are found in a text before it is cut otherwise, by their content.
//
// Some are looked for in the text as it is, the others (`normalized`) in the normalized text between these, by their
// normalized content. Where several begin at a place, the longest counts.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_ADDED_TOKENS_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_ADDED_TOKENS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/normalizer.h"
#include "runtime/tokenizer/bpe/token_model.h"
#include "runtime/tokenizer/bpe/tokenizer_json.h"

namespace cleave::runtime {

struct AddedToken {
  int32_t token = 0;
  std::string content;
  bool takes_space_before = false;
  bool takes_space_behind = false;
  bool is_normalized = false;
  bool is_special = false;
};

// The member `added_tokens`. An Error where a token is also the model's and has another number there, or must be a
// single word. Null for none.
Result<std::vector<AddedToken>> ReadAddedTokens(const Json* json, const TokenModel& model);

// A part of a text: a token, or what lies between tokens.
struct TextSection {
  std::optional<int32_t> token;
  size_t begin;
  size_t end;
};

class AddedTokenFinder {
 public:
  void Add(const std::string& content, const AddedToken& token);

  // All of the text, from left to right. A special token is none where a byte of it is in the ranges `literal`, which
  // are in order; `passed_over` counts these.
  std::vector<TextSection> Sections(const std::string& text, const std::vector<TextRange>& literal,
                                    int64_t& passed_over) const;

 private:
  struct Entry {
    std::string content;
    AddedToken token;
  };

  // The longest that begins there; null for none.
  const Entry* LongestAt(const std::string& text, size_t at, const std::vector<TextRange>& literal,
                         int64_t& passed_over) const;

  std::array<std::vector<Entry>, 256> entries_;  // By the first byte, the longest first.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_ADDED_TOKENS_H_
