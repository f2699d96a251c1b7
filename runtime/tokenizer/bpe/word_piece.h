// Private to runtime/tokenizer/bpe: WordPiece as BERT has it (Devlin and others, 2019): the longest token with which a
// word begins, then the longest with which the rest goes on, of those that are written with a mark before them.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_WORD_PIECE_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_WORD_PIECE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/bpe/token_model.h"

namespace cleave::runtime {

class WordPieceModel final : public TokenModel {
 public:
  std::optional<Error> ReadFrom(const Fields& fields);

  // A word that is no row of tokens is unknown as a whole.
  std::optional<Error> Tokenize(const std::string& piece, bool has_bytes,
                                std::vector<SizedToken>& tokens) const override;

 private:
  std::string prefix_;          // "##"
  size_t most_characters_ = 0;  // Longer words are unknown.
  size_t longest_ = 0;          // Bytes of the longest token.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_WORD_PIECE_H_
