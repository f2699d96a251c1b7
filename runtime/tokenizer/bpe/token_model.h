// Private to runtime/tokenizer/bpe: how a piece of text becomes tokens of a vocabulary.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_TOKEN_MODEL_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_TOKEN_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/bpe/merging.h"

namespace cleave::runtime {

// Larger numbers of tokens are refused: a list of all of them is kept.
constexpr int64_t kMostTokens = int64_t{1} << 22;

class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // The types BPE, WordPiece and Unigram.
  static Result<std::unique_ptr<const TokenModel>> Read(const Json& json);

  const std::unordered_map<std::string, int32_t>& vocabulary() const { return vocabulary_; }

  std::optional<int32_t> Find(const std::string& token) const;

  // Appends the tokens of a piece, whose sizes are in bytes, or in characters if `has_bytes`: each is then a byte of
  // the text (byte_level.h). An Error where a character has no token. REQUIRES: the piece is UTF-8.
  virtual std::optional<Error> Tokenize(const std::string& piece, bool has_bytes,
                                        std::vector<SizedToken>& tokens) const = 0;

 protected:
  std::optional<Error> ReadVocabulary(const Fields& fields);  // An object of numbers.
  std::optional<Error> AddToken(const std::string& token, int64_t number);
  std::optional<Error> ReadUnknown(const Fields& fields);  // `unk_token`
  std::optional<Error> ReadBytes(const Fields& fields);    // `byte_fallback`

  // What stands for characters that have no token of their own: the tokens of their bytes, or the unknown one. `joins`:
  // with one that stands before it.
  std::optional<Error> AppendUnknown(const std::string& characters, bool has_bytes, bool joins,
                                     std::vector<SizedToken>& tokens) const;

  std::unordered_map<std::string, int32_t> vocabulary_;
  std::optional<int32_t> unknown_;        // Stands for characters without a token.
  std::vector<int32_t> tokens_of_bytes_;  // Stand for the bytes of characters without a token; none or 256.
};

// How many bytes a text has, or characters.
uint32_t TextSizeOf(const std::string& text, bool in_characters);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_TOKEN_MODEL_H_
