// Private to runtime/tokenizer/bpe: how a text is cut into pieces, across whose borders no tokens merge.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_PRE_TOKENIZER_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_PRE_TOKENIZER_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/tokenizer/pcre2/regex.h"

namespace cleave::runtime {

struct TextPiece {
  std::string text;
  bool is_first;  // It begins where the user's text does.
};

using TextPieces = std::vector<TextPiece>;

// The types ByteLevel, Split, Digits, Metaspace, BertPreTokenizer, Whitespace, WhitespaceSplit, Punctuation, and
// Sequence of them.
class PreTokenizer {
 public:
  static Result<PreTokenizer> Read(const Json* json);  // Null for none.

  // None of the pieces is empty. If writes_bytes(), they are then to be written with the characters of their bytes.
  Result<TextPieces> Cut(const TextPiece& text) const;
  bool writes_bytes() const { return writes_bytes_; }

 private:
  // What becomes of the places where an expression matches.
  enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

  // Cuts at matches, or, inverted, at what lies between them.
  struct Split {
    Regex pattern;
    Behavior behavior;
    bool is_inverted;
  };
  // Puts this text before a piece that does not begin with it.
  struct Prefix {
    std::string text;
    bool only_at_first;
  };
  // Writes this instead of spaces.
  struct Spaces {
    Regex space;
    std::string replacement;
  };
  // Writes bytes as characters (byte_level.h).
  struct Bytes {};
  using Step = std::variant<Split, Prefix, Spaces, Bytes>;

  struct Span {
    size_t begin;
    size_t end;
    bool is_match;
  };

  static std::vector<Span> Joined(const std::vector<Span>& spans, Behavior behavior);
  static std::optional<Error> Apply(const Split& split, const TextPiece& piece, TextPieces& pieces);
  static std::optional<Error> Apply(const Prefix& prefix, const TextPiece& piece, TextPieces& pieces);
  static std::optional<Error> Apply(const Spaces& spaces, const TextPiece& piece, TextPieces& pieces);
  static std::optional<Error> Apply(const Bytes& bytes, const TextPiece& piece, TextPieces& pieces);

  std::optional<Error> Append(const Json& json);
  std::optional<Error> AppendByteLevel(const Fields& fields);
  std::optional<Error> AppendSplit(const Fields& fields);
  std::optional<Error> AppendDigits(const Fields& fields);
  std::optional<Error> AppendPunctuation(const Fields& fields);
  static Result<Behavior> ReadBehavior(const Fields& fields);
  std::optional<Error> AppendPattern(const char* expression, Behavior behavior, bool is_inverted = false);
  std::optional<Error> AppendMetaspace(const Fields& fields);

  std::vector<Step> steps_;
  bool writes_bytes_ = false;  // As the last step.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_PRE_TOKENIZER_H_
