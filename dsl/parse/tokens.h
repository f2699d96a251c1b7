// The tokens of one file, and what is wrong with single tokens.
//
// The lexer itself never fails: characters, strings, comments and numbers that are malformed have token kinds of their
// own (dsl/grammar). Lex reports them and turns them into what was most likely meant, so that the parser goes on.
#ifndef CLEAVE_DSL_PARSE_TOKENS_H_
#define CLEAVE_DSL_PARSE_TOKENS_H_

#include <antlr4-runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"

namespace cleave::dsl {

// Turns the places of ANTLR, which counts code points, into spans.
class TokenPlaces {
 public:
  // REQUIRES: `text` is valid UTF-8 and outlives this object.
  TokenPlaces(FileId file, absl::string_view text);

  // The span of a token; for the end of the file the empty span there.
  Span SpanOf(const antlr4::Token& token) const;

  // From the first byte of `first` to the last of `last`.
  Span SpanOf(const antlr4::Token& first, const antlr4::Token& last) const;

  absl::string_view TextOf(const antlr4::Token& token) const;
  absl::string_view text() const { return text_; }

 private:
  int32_t ByteOf(size_t code_point) const;

  FileId file_;
  absl::string_view text_;
  std::vector<int32_t> byte_of_;  // Of each code point, and of the end; empty when all of the text is ASCII.
};

struct Tokens {
  std::unique_ptr<antlr4::ANTLRInputStream> input;  // Tokens point to these two.
  std::unique_ptr<antlr4::Lexer> lexer;
  std::vector<std::unique_ptr<antlr4::Token>> list;  // All channels, comments included; the last is EOF.
  std::vector<Diagnostic> errors;
  bool are_too_many = false;  // The last error says so.
};

// Stops early, with an error, after kMaxTokens tokens: the rest would need gigabytes to parse.
Tokens Lex(const TokenPlaces& places);

inline constexpr size_t kMaxTokens = 2'000'000;

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_TOKENS_H_
