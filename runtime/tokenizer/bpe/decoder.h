// Private to runtime/tokenizer/bpe: what of a token is text.
//
// In the library a decoder sees all tokens of a text. Here it sees one after the other, so that text can be shown as it
// comes: what cannot be decided so is refused.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_DECODER_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_DECODER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/pcre2/regex.h"

namespace cleave::runtime {

// The types ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, WordPiece, and Sequence of them.
class Decoder {
 public:
  static Result<Decoder> Read(const Json* json);  // Null is an Error.

  // The bytes of a token with this content. REQUIRES: it is UTF-8.
  Result<std::string> Bytes(std::string token, bool is_first) const;

 private:
  // Characters stand for bytes (byte_level.h).
  struct Characters {};
  // <0x0A> stands for a byte.
  struct Fallback {};
  struct Replaced {
    Regex pattern;
    std::string content;
    bool only_in_first;
  };
  // At most `most` times this text goes away at the begin.
  struct Stripped {
    std::string content;
    int64_t most;
    bool only_of_first;
  };
  // A token that goes on with a word begins with this, which goes away; a space comes before other tokens. `is_clean`:
  // none before signs of punctuation, nor within some words of English.
  struct Words {
    std::string prefix;
    bool is_clean;
  };
  // Tokens are taken for one from here on.
  struct Fused {};
  using Step = std::variant<Characters, Fallback, Replaced, Stripped, Words, Fused>;

  template <typename Kind>
  bool Has() const;

  std::optional<Error> Append(const Json& json);
  std::optional<Error> AppendReplace(const Fields& fields);
  std::optional<Error> AppendStrip(const Fields& fields);
  std::optional<Error> AppendMetaspace(const Fields& fields);
  std::optional<Error> AppendWordPiece(const Fields& fields);

  std::vector<Step> steps_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_DECODER_H_
