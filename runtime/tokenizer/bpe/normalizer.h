// Private to runtime/tokenizer/bpe: what is done to a text before it is cut into tokens.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_NORMALIZER_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_NORMALIZER_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/charsmap.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/pcre2/regex.h"

namespace cleave::runtime {

// The types Prepend, Replace, NFC, NFD, Lowercase, StripAccents, Strip, BertNormalizer, Precompiled, and Sequence of
// them.
class Normalizer {
 public:
  static Result<Normalizer> Read(const Json* json);  // Null for none.

  Result<std::string> Normalize(std::string text) const;

 private:
  // Puts this before a text that is not empty.
  struct Prepended {
    std::string text;
  };
  struct Replaced {
    Regex pattern;
    std::string content;
  };
  // Puts a space before and behind each match.
  struct Spaced {
    Regex pattern;
  };
  using Changed = std::string (*)(const std::string& text);  // Normalization Form C, and the like.
  using Step = std::variant<Prepended, Replaced, Spaced, Changed, Charsmap>;

  std::optional<Error> Append(const Json& json);
  std::optional<Error> AppendBert(const Fields& fields);
  std::optional<Error> AppendStrip(const Fields& fields);
  std::optional<Error> AppendReplaced(const char* expression, const char* content);

  std::vector<Step> steps_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_NORMALIZER_H_
