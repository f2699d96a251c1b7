#include "dsl/parse/tokens.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/text.h"
#include "dsl/grammar/CleaveLexer.h"
#include "dsl/parse/numbers.h"
#include "dsl/syntax/syntax.h"

namespace cleave::dsl {
namespace {

using antlr4::Token;
using grammar::CleaveLexer;

Span SubSpan(Span span, int32_t offset, int32_t length) {
  return Span{.file = span.file, .begin = span.begin + offset, .end = span.begin + offset + length};
}

Diagnostic BadCharacter(absl::string_view text, Span span) {
  Diagnostic diagnostic = Error(Code::kE0103, absl::ascii_iscntrl(static_cast<unsigned char>(text[0]))
                                                  ? absl::StrFormat("unexpected control character 0x%02x", text[0])
                                                  : absl::StrCat("unexpected character `", text, "`"))
                              .At(span, "the language does not use it");
  if (text == "'") return std::move(diagnostic).Help("strings are written between double quotes: \"data/mnist\"");
  if (text == ".") return std::move(diagnostic).Help("a float has digits on both sides of its dot: `1.0`, `0.5`");
  if (text == "^") return std::move(diagnostic).Help("a power is written as a product");
  if (text == "&" || text == "|") {
    return std::move(diagnostic).Help("the operators are + - * / % == != < <= > >= && || !");
  }
  if (static_cast<unsigned char>(text[0]) >= 0x80) {
    return std::move(diagnostic)
        .Note("names have letters a to z, digits and `_`; any text may be used in strings and comments");
  }
  return diagnostic;
}

Diagnostic BadNumber(absl::string_view text, Span span) {
  const size_t unit = std::min(text.find_first_not_of("0123456789_."), text.size());
  return Error(Code::kE0107, absl::StrCat("`", text.substr(0, 40), "` is no number, size or time"))
      .At(SubSpan(span, static_cast<int32_t>(unit), static_cast<int32_t>(text.size() - unit)),
          "not a unit of the language")
      .Help(
          "sizes end in B, KiB, MiB, GiB, TiB, KB, MB, GB or TB: `40GiB`; times in ns, us, ms or s: `20ms`; names do "
          "not begin with a digit");
}

Diagnostic TooLarge(absl::string_view limit, Span span) {
  return Error(Code::kE0108, "number too large").At(span, absl::StrCat("at most ", limit));
}

// Checks what the lexer cannot: sizes and values.
class TokenChecker {
 public:
  TokenChecker(const TokenPlaces& places, std::vector<Diagnostic>& errors) : places_(places), errors_(errors) {}

  // May change the type of the token to the one that was most likely meant.
  void Check(antlr4::CommonToken& token) {
    const Span span = places_.SpanOf(token);
    const absl::string_view text = places_.TextOf(token);
    switch (token.getType()) {
      case CleaveLexer::INTEGER:
        if (!IntegerValue(text)) errors_.push_back(TooLarge("9,223,372,036,854,775,807 (2^63 - 1)", span));
        break;
      case CleaveLexer::FLOAT:
        if (!FloatValue(text)) errors_.push_back(TooLarge("about 1.8e308, the largest 64-bit float", span));
        break;
      case CleaveLexer::SIZE:
        if (!SizeValue(text)) errors_.push_back(TooLarge("2^63 - 1 bytes", span));
        break;
      case CleaveLexer::TIME:
        if (!TimeValue(text)) errors_.push_back(TooLarge("about 1.8e308, the largest 64-bit float", span));
        break;
      case CleaveLexer::BAD_NUMBER:
        errors_.push_back(BadNumber(text, span));
        token.setType(CleaveLexer::INTEGER);
        break;
      case CleaveLexer::STRING:
        CheckEscapes(text, span);
        break;
      case CleaveLexer::OPEN_STRING:
        errors_.push_back(Error(Code::kE0104, "string without its closing quote")
                              .At(SubSpan(span, 0, 1), "the string begins here, and its line ends before it")
                              .Help("close it with `\"`; a line break within a string is written \\n"));
        token.setType(CleaveLexer::STRING);
        break;
      case CleaveLexer::OPEN_COMMENT:
        errors_.push_back(Error(Code::kE0105, "comment without its end")
                              .At(SubSpan(span, 0, 2), "the comment begins here, and the file ends before it")
                              .Help("close it with `*/`"));
        break;
      case CleaveLexer::BAD_CHARACTER:
        // One report for a run of them.
        if (span.begin != bad_until_) errors_.push_back(BadCharacter(text, span));
        bad_until_ = span.end;
        break;
      case CleaveLexer::NAME:
        if (text.size() > static_cast<size_t>(syntax::kMaxNameBytes)) {
          errors_.push_back(Error(Code::kE0110, absl::StrCat("name of ", FormatCount(static_cast<int64_t>(text.size())),
                                                             " characters"))
                                .At(span, absl::StrCat("a name has at most ", syntax::kMaxNameBytes)));
        }
        break;
      default:
        break;
    }
  }

 private:
  void CheckEscapes(absl::string_view text, Span span) {
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      if (text[i] != '\\') continue;
      ++i;
      if (absl::string_view("\"\\nt").find(text[i]) != absl::string_view::npos) continue;
      // The escaped character may have several bytes.
      size_t length = 2;
      while ((static_cast<unsigned char>(text[i - 1 + length]) & 0xc0) == 0x80) ++length;
      errors_.push_back(
          Error(Code::kE0106, absl::StrCat("unknown escape `", text.substr(i - 1, length), "`"))
              .At(SubSpan(span, static_cast<int32_t>(i - 1), static_cast<int32_t>(length)), "not an escape")
              .Help("the escapes are \\\" \\\\ \\n \\t; a path is written with `/`"));
    }
  }

  const TokenPlaces& places_;
  std::vector<Diagnostic>& errors_;
  int32_t bad_until_ = -1;  // The end of the last bad character.
};

// If a line ends before its string, most often only the quote is missing, `mnist("data);`: characters at its end that
// close brackets and statements become tokens.
void GiveBackClosers(const TokenPlaces& places, antlr4::CommonToken& token, antlr4::CharStream& input) {
  const absl::string_view text = places.TextOf(token);
  const size_t last = text.find_last_not_of(" \t)];,}");
  const size_t kept = last == absl::string_view::npos || last == 0 ? 1 : last + 1;
  // Only ASCII is given back, so bytes are code points.
  token.setStopIndex(token.getStopIndex() - (text.size() - kept));
  input.seek(token.getStopIndex() + 1);
}

}  // namespace

TokenPlaces::TokenPlaces(FileId file, absl::string_view text) : file_(file), text_(text) {
  const auto is_continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  const bool is_ascii = std::none_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) < 0; });
  if (is_ascii) return;
  byte_of_.reserve(text.size() + 1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_continuation(text[i])) byte_of_.push_back(static_cast<int32_t>(i));
  }
  byte_of_.push_back(static_cast<int32_t>(text.size()));
}

int32_t TokenPlaces::ByteOf(size_t code_point) const {
  if (byte_of_.empty()) return static_cast<int32_t>(std::min(code_point, text_.size()));
  return byte_of_[std::min(code_point, byte_of_.size() - 1)];
}

Span TokenPlaces::SpanOf(const Token& token) const { return SpanOf(token, token); }

Span TokenPlaces::SpanOf(const Token& first, const Token& last) const {
  const int32_t begin = ByteOf(first.getStartIndex());
  if (last.getType() == Token::EOF) return Span{.file = file_, .begin = begin, .end = ByteOf(last.getStartIndex())};
  return Span{.file = file_, .begin = begin, .end = ByteOf(last.getStopIndex() + 1)};
}

absl::string_view TokenPlaces::TextOf(const Token& token) const {
  const Span span = SpanOf(token);
  return text_.substr(static_cast<size_t>(span.begin), static_cast<size_t>(span.end - span.begin));
}

Tokens Lex(const TokenPlaces& places) {
  Tokens tokens;
  tokens.input = std::make_unique<antlr4::ANTLRInputStream>(std::string(places.text()));
  tokens.lexer = std::make_unique<CleaveLexer>(tokens.input.get());
  tokens.lexer->removeErrorListeners();
  TokenChecker checker(places, tokens.errors);
  while (true) {
    std::unique_ptr<Token> token = tokens.lexer->nextToken();
    auto& common = static_cast<antlr4::CommonToken&>(*token);
    if (common.getType() == CleaveLexer::OPEN_STRING) GiveBackClosers(places, common, *tokens.input);
    checker.Check(common);
    const bool is_end = common.getType() == Token::EOF;
    if (!is_end && tokens.list.size() >= kMaxTokens) {
      tokens.errors.push_back(
          Error(Code::kE0113, absl::StrCat("the file has more than ", FormatCount(kMaxTokens), " words and signs"))
              .At(places.SpanOf(common), "nothing from here on was read")
              .Help("write repeated parts as a function and a `for` loop"));
      tokens.are_too_many = true;
      common.setType(Token::EOF);
      tokens.list.push_back(std::move(token));
      return tokens;
    }
    tokens.list.push_back(std::move(token));
    if (is_end) return tokens;
  }
}

}  // namespace cleave::dsl
