// Private to runtime/tokenizer/bpe: the most probable row of tokens (Kudo, Subword Regularization, ACL 2018), as files
// of SentencePiece have it.
//
// The best row up to each place of a piece is found from left to right: it ends with a token that begins at an earlier
// place, behind the best row up to there. Tokens at a place are found in a tree of all of them. A character that is no
// token counts ten less than the least probable token.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_UNIGRAM_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_UNIGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/bpe/token_model.h"

namespace cleave::runtime {

class UnigramModel final : public TokenModel {
 public:
  std::optional<Error> ReadFrom(const Fields& fields);

  // Unknown characters in a row are one unknown token.
  std::optional<Error> Tokenize(const std::string& piece, bool has_bytes,
                                std::vector<SizedToken>& tokens) const override;

 private:
  static constexpr int32_t kNoToken = -1;

  // The tree's nodes have numbers; the root is 0.
  static uint64_t Edge(size_t node, char byte) { return node << 8 | static_cast<unsigned char>(byte); }
  void AddToTree(const std::string& token, int32_t number);

  std::unordered_map<uint64_t, size_t> tree_;  // From a node by a byte to the next.
  std::vector<int32_t> ends_ = {kNoToken};     // The token that ends at a node.
  std::vector<double> scores_;                 // Logarithms of probabilities, by token.
  double lowest_ = 0;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_UNIGRAM_H_
