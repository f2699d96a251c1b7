// Private to runtime/tokenizer/bpe: byte-pair encoding (Sennrich, Haddow, Birch: Neural Machine Translation of Rare
// Words with Subword Units, ACL 2016).
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_MODEL_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/bpe/merging.h"
#include "runtime/tokenizer/bpe/token_model.h"

namespace cleave::runtime {

class BpeModel final : public TokenModel {
 public:
  std::optional<Error> ReadFrom(const Fields& fields);

  std::optional<Error> Tokenize(const std::string& piece, bool has_bytes,
                                std::vector<SizedToken>& tokens) const override;

 private:
  std::optional<Error> ReadMerges(const Fields& fields);
  std::optional<Error> AddMerge(const std::string& left, const std::string& right);

  // The tokens of the single characters.
  std::optional<Error> AppendCharacters(const std::string& piece, bool has_bytes,
                                        std::vector<SizedToken>& tokens) const;

  MergeTable merges_;
  bool takes_whole_pieces_ = false;  // Where a piece is a token, no merges are done.
  bool joins_unknown_ = false;       // One stands for several in a row.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_MODEL_H_
