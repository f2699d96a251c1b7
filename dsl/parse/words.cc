#include "dsl/parse/words.h"

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "dsl/grammar/CleaveLexer.h"
#include "dsl/parse/expectation.h"
#include "dsl/parse/text_check.h"
#include "dsl/parse/tokens.h"
#include "dsl/syntax/syntax.h"

namespace cleave::dsl {
namespace {

using grammar::CleaveLexer;

WordKind KindOf(size_t type, absl::string_view text) {
  switch (type) {
    case CleaveLexer::INTEGER:
    case CleaveLexer::FLOAT:
    case CleaveLexer::SIZE:
      return WordKind::kNumber;
    case CleaveLexer::STRING:
      return WordKind::kString;
    case CleaveLexer::COMMENT:
    case CleaveLexer::OPEN_COMMENT:
      return WordKind::kComment;
    default:
      break;
  }
  if (IsReservedWord(type)) return WordKind::kReserved;
  return IsName(text) ? WordKind::kName : WordKind::kSign;
}

}  // namespace

std::vector<Word> WordsOf(absl::string_view text) {
  std::vector<Word> words;
  if (FindBadText(text).has_value()) return words;
  const TokenPlaces places(FileId(0), text);
  const Tokens tokens = Lex(places);
  if (tokens.are_too_many) return words;
  for (const std::unique_ptr<antlr4::Token>& token : tokens.list) {
    const Span span = places.SpanOf(*token);
    if (token->getType() == antlr4::Token::EOF || span.end <= span.begin) continue;
    words.push_back({.kind = KindOf(token->getType(), places.TextOf(*token)), .begin = span.begin, .end = span.end});
  }
  return words;
}

bool IsReserved(absl::string_view word) {
  for (const absl::string_view each : {"fn", "let", "mut", "for", "if", "else", "return", "true", "false", "with"}) {
    if (word == each) return true;
  }
  return false;
}

bool IsName(absl::string_view word) {
  if (word.empty() || word == "_" || word.size() > static_cast<size_t>(syntax::kMaxNameBytes)) return false;
  if (absl::ascii_isdigit(static_cast<unsigned char>(word[0])) || IsReserved(word)) return false;
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); });
}

}  // namespace cleave::dsl
