// Private to runtime/tokenizer/bpe: the table by which files of SentencePiece normalize, `precompiled_charsmap`: a tree
// of texts in a double array (Aoe, An Efficient Digital Search Algorithm by Using a Double-Array Structure, 1989), and
// what they become. The layout is that of the library darts-clone.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_CHARSMAP_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_CHARSMAP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/tokenizer/pcre2/regex.h"

namespace cleave::runtime {

class Charsmap {
 public:
  // Of the text in base64.
  static Result<Charsmap> Read(const std::string& base64);

  // Takes characters with their marks together where the table has them, else one by one.
  Result<std::string> Normalize(const std::string& text) const;

 private:
  explicit Charsmap(Regex cluster) : cluster_(std::move(cluster)) {}

  // What the table has for the shortest text with which this one begins.
  std::optional<std::string> Find(const std::string& text) const;

  Regex cluster_;  // A character with its marks.
  std::vector<uint32_t> units_;
  std::string texts_;  // Each ends with a zero.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_CHARSMAP_H_
