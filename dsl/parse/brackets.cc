#include "dsl/parse/brackets.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dsl/grammar/CleaveLexer.h"
#include "dsl/syntax/syntax.h"

namespace cleave::dsl {
namespace {

using antlr4::Token;
using grammar::CleaveLexer;

// The opening bracket for a closing one.
std::optional<size_t> OpeningFor(size_t type) {
  if (type == CleaveLexer::RPAREN) return CleaveLexer::LPAREN;
  if (type == CleaveLexer::RBRACKET) return CleaveLexer::LBRACKET;
  if (type == CleaveLexer::RBRACE) return CleaveLexer::LBRACE;
  return std::nullopt;
}

absl::string_view ClosingText(size_t opening) {
  return opening == CleaveLexer::LPAREN ? ")" : opening == CleaveLexer::LBRACKET ? "]" : "}";
}

class BracketChecker {
 public:
  BracketChecker(const Tokens& tokens, const TokenPlaces& places) : tokens_(tokens), places_(places) {}

  BracketCheck Run() && {
    for (size_t i = 0; i < tokens_.list.size(); ++i) {
      const Token& token = *tokens_.list[i];
      if (token.getChannel() != Token::DEFAULT_CHANNEL) continue;
      const size_t type = token.getType();
      if (IsOpening(type)) {
        open_.push_back(i);
        if (open_.size() > static_cast<size_t>(syntax::kMaxBracketDepth)) {
          ReportDepth(i);
          break;
        }
      } else if (const std::optional<size_t> opening = OpeningFor(type)) {
        Close(i, *opening);
      } else if (EndsStatement(i)) {  // It stands in bodies only, never within parentheses or square brackets.
        while (!open_.empty() && TypeAt(open_.back()) != CleaveLexer::LBRACE) ReportOpen(i, false);
      } else if (type == Token::EOF || (!open_.empty() && BeginsItem(i))) {
        while (!open_.empty()) ReportOpen(i, type == Token::EOF);
      }
      if (type != Token::EOF) previous_ = i;
    }
    return std::move(check_);
  }

 private:
  size_t TypeAt(size_t i) const { return tokens_.list[i]->getType(); }

  bool IsFirstOnItsLine(size_t i) const { return tokens_.list[i]->getLine() != tokens_.list[previous_]->getLine(); }

  // A reserved word in the middle of a line may have been meant as a name.
  bool EndsStatement(size_t i) const {
    const size_t type = TypeAt(i);
    if (type == CleaveLexer::SEMICOLON) return true;
    return (type == CleaveLexer::LET || type == CleaveLexer::FOR || type == CleaveLexer::IF ||
            type == CleaveLexer::RETURN) &&
           IsFirstOnItsLine(i);
  }

  // The words of items other than `fn` may be names too, but not at the start of a line with a name or a body behind
  // them.
  bool BeginsItem(size_t i) const {
    if (TypeAt(i) == CleaveLexer::FN) {
      const size_t before = TypeAt(previous_);
      return IsFirstOnItsLine(i) || before == CleaveLexer::RBRACE || before == CleaveLexer::SEMICOLON;
    }
    if (tokens_.list[i]->getCharPositionInLine() != 0) return false;
    const size_t following = TypeAt(i + 1);  // There is one: the last token is the end of the file.
    switch (TypeAt(i)) {
      case CleaveLexer::MODEL:
      case CleaveLexer::OP:
      case CleaveLexer::TRAIN:
        return following == CleaveLexer::NAME;
      case CleaveLexer::PARALLEL:
      case CleaveLexer::EXPECT:
        return following == CleaveLexer::LBRACE;
      default:
        return false;
    }
  }

  void Close(size_t i, size_t opening) {
    const auto partner = std::find_if(open_.rbegin(), open_.rend(), [&](size_t j) { return TypeAt(j) == opening; });
    // A single `)` must not count as the wrong closing of an outer `{`: brackets pair only within their block.
    const auto block =
        std::find_if(open_.rbegin(), open_.rend(), [&](size_t j) { return TypeAt(j) == CleaveLexer::LBRACE; });
    if (partner == open_.rend() || block < partner) {
      const absl::string_view text = places_.TextOf(*tokens_.list[i]);
      check_.errors.push_back({.opened = i,
                               .noticed = i,
                               .is_brace = false,
                               .diagnostic = Error(Code::kE0102, absl::StrCat("`", text, "` closes nothing"))
                                                 .At(places_.SpanOf(*tokens_.list[i]), "no open bracket matches")});
      return;
    }
    while (TypeAt(open_.back()) != opening) ReportOpen(i, false);
    open_.pop_back();
  }

  // The innermost open bracket is not closed before token `i`.
  void ReportOpen(size_t i, bool at_end) {
    const Token& bracket = *tokens_.list[open_.back()];
    const absl::string_view text = places_.TextOf(bracket);
    Diagnostic diagnostic =
        Error(Code::kE0102, absl::StrCat("`", text, "` is never closed")).At(places_.SpanOf(bracket), "opened here");
    if (at_end) {
      std::move(diagnostic).Help(absl::StrCat("add `", ClosingText(bracket.getType()), "`"));
    } else {
      std::move(diagnostic)
          .At(places_.SpanOf(*tokens_.list[i]),
              absl::StrCat("`", ClosingText(bracket.getType()), "` is missing before this"));
    }
    check_.errors.push_back({.opened = open_.back(),
                             .noticed = i,
                             .is_brace = bracket.getType() == CleaveLexer::LBRACE,
                             .diagnostic = std::move(diagnostic)});
    open_.pop_back();
  }

  void ReportDepth(size_t i) {
    check_.too_deep = true;
    check_.errors.push_back(
        {.opened = i,
         .noticed = i,
         .is_brace = false,
         .diagnostic = Error(Code::kE0109, absl::StrCat("brackets nest more than ", syntax::kMaxBracketDepth, " deep"))
                           .At(places_.SpanOf(*tokens_.list[i]), "the first one that is too deep")
                           .At(places_.SpanOf(*tokens_.list[open_.front()]), "the outermost opens here")
                           .Help("name a part of the expression with `let`")});
  }

  const Tokens& tokens_;
  const TokenPlaces& places_;
  std::vector<size_t> open_;  // Indices of opening brackets, outermost first.
  size_t previous_ = 0;       // The last token before the current one that is no comment.
  BracketCheck check_;
};

}  // namespace

bool IsOpening(size_t type) {
  return type == CleaveLexer::LPAREN || type == CleaveLexer::LBRACKET || type == CleaveLexer::LBRACE;
}

bool IsClosing(size_t type) { return OpeningFor(type).has_value(); }

BracketCheck CheckBrackets(const Tokens& tokens, const TokenPlaces& places) {
  return BracketChecker(tokens, places).Run();
}

}  // namespace cleave::dsl
