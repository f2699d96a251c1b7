// Private to runtime/tokenizer/bpe: byte-pair encoding (Sennrich, Haddow, Birch: Neural Machine Translation of Rare
// Words with Subword Units, ACL 2016).
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_MODEL_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_MODEL_H_

#include <cstdint>
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

class BpeModel {
 public:
  static Result<BpeModel> Read(const Json& json);

  const std::unordered_map<std::string, int32_t>& vocabulary() const { return vocabulary_; }

  std::optional<int32_t> Find(const std::string& token) const;

  // Appends the tokens of a piece, whose sizes are in bytes, or in characters if `has_bytes`: each is then a byte of
  // the text (byte_level.h). An Error where a character has no token. REQUIRES: the piece is UTF-8.
  std::optional<Error> Tokenize(const std::string& piece, bool has_bytes, std::vector<SizedToken>& tokens) const;

 private:
  std::optional<Error> ReadVocabulary(const Fields& fields);
  std::optional<Error> ReadMerges(const Fields& fields);
  std::optional<Error> AddMerge(const std::string& left, const std::string& right);
  std::optional<Error> ReadUnknown(const Fields& fields);

  // The tokens of the single characters.
  std::optional<Error> AppendCharacters(const std::string& piece, bool has_bytes,
                                        std::vector<SizedToken>& tokens) const;

  std::unordered_map<std::string, int32_t> vocabulary_;
  MergeTable merges_;
  bool takes_whole_pieces_ = false;       // Where a piece is a token, no merges are done.
  std::optional<int32_t> unknown_;        // Stands for characters without a token.
  bool joins_unknown_ = false;            // One stands for several in a row.
  std::vector<int32_t> tokens_of_bytes_;  // Stand for the bytes of characters without a token; none or 256.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_MODEL_H_
