// Parse: text check, lexer, bracket check, generated parser, tree builder.
#include "dsl/parse/parse.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "dsl/grammar/CleaveParser.h"
#include "dsl/parse/brackets.h"
#include "dsl/parse/syntax_errors.h"
#include "dsl/parse/text_check.h"
#include "dsl/parse/tokens.h"
#include "dsl/parse/tree_builder.h"

namespace cleave::dsl {
namespace {

using antlr4::Token;
using grammar::CleaveParser;

// Drops errors that the bracket check has explained already: an error of the parser at the place where a brace is
// missing, and for other brackets the first error after one that is never closed.
void DropExplained(const std::vector<BracketError>& brackets, const std::vector<size_t>& after_bad_characters,
                   std::vector<SyntaxError>& errors) {
  for (const BracketError& bracket : brackets) {
    // The words that begin items may be names: then the parser rejects the token behind them.
    const size_t first = bracket.is_brace ? bracket.noticed : bracket.opened;
    const size_t last = bracket.is_brace ? bracket.noticed + 1 : bracket.noticed;
    const auto explained = std::find_if(errors.begin(), errors.end(), [&](const SyntaxError& error) {
      return first <= error.token && error.token <= last;
    });
    if (explained != errors.end()) errors.erase(explained);
  }
  const auto follows_bad_character = [&](const SyntaxError& error) {
    return std::binary_search(after_bad_characters.begin(), after_bad_characters.end(), error.token);
  };
  errors.erase(std::remove_if(errors.begin(), errors.end(), follows_bad_character), errors.end());
}

// The tokens that come right after characters that the parser does not see, ascending: an error there is only a
// consequence.
std::vector<size_t> TokensAfterBadCharacters(const Tokens& tokens) {
  std::vector<size_t> after;
  bool is_after = false;
  for (size_t i = 0; i < tokens.list.size(); ++i) {
    const Token& token = *tokens.list[i];
    if (token.getType() == CleaveParser::BAD_CHARACTER) is_after = true;
    if (token.getChannel() == Token::DEFAULT_CHANNEL && std::exchange(is_after, false)) after.push_back(i);
  }
  return after;
}

// The comments and blank lines of the file, which the parser does not see.
void AddLayout(const Tokens& tokens, const TokenPlaces& places, syntax::File& file) {
  const absl::string_view text = places.text();
  int32_t covered = 0;  // The end of the last token.
  for (const std::unique_ptr<Token>& token : tokens.list) {
    const Span span = places.SpanOf(*token);
    const absl::string_view gap = text.substr(static_cast<size_t>(covered), static_cast<size_t>(span.begin - covered));
    // A line is blank when there are two newlines with nothing between them but space.
    const size_t first = gap.find('\n');
    if (first != absl::string_view::npos && gap.find('\n', first + 1) != absl::string_view::npos) {
      file.blank_lines.push_back(covered + static_cast<int32_t>(first) + 1);
    }
    if (token->getType() == CleaveParser::COMMENT) {
      const absl::string_view comment = places.TextOf(*token);
      file.comments.push_back({.span = span,
                               .text = std::string(absl::StripTrailingAsciiWhitespace(comment)),
                               .own_line = first != absl::string_view::npos || covered == 0});
    }
    covered = span.end;
  }
}

void AddInOrder(std::vector<Diagnostic> errors, Diagnostics& diagnostics) {
  std::stable_sort(errors.begin(), errors.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return a.labels[0].span.begin < b.labels[0].span.begin;
  });
  for (Diagnostic& error : errors) diagnostics.Add(std::move(error));
}

// The tree of a file; of one with mistakes, what fits of it where that is asked for, else nothing.
syntax::File ParseFile(FileId id, const SourceSet& sources, bool wants_what_fits, Diagnostics& diagnostics) {
  const SourceFile& source = sources.file(id);
  syntax::File file{.file = id, .items = {}, .comments = {}, .blank_lines = {}};
  if (static_cast<int64_t>(source.text().size()) > kMaxSourceBytes) {
    diagnostics.Add(TooLarge(absl::StrCat("`", source.path(), "` has ", source.text().size(), " bytes")));
    return file;
  }
  if (std::optional<BadText> bad = FindBadText(source.text())) {
    const auto place = static_cast<int32_t>(bad->offset);
    const auto end = place + static_cast<int32_t>(bad->size);
    diagnostics.Add(std::move(bad->diagnostic).At(Span{.file = id, .begin = place, .end = end}, bad->label));
    return file;
  }
  const TokenPlaces places(id, source.text());
  Tokens tokens = Lex(places);
  if (tokens.are_too_many) {  // What is not closed is closed behind them.
    diagnostics.Add(std::move(tokens.errors.back()));
    return file;
  }
  BracketCheck brackets = CheckBrackets(tokens, places);
  std::vector<Diagnostic> errors = std::move(tokens.errors);
  AddLayout(tokens, places, file);
  const std::vector<size_t> after_bad_characters = TokensAfterBadCharacters(tokens);
  std::vector<SyntaxError> syntax_errors;
  if (!brackets.too_deep) {
    antlr4::ListTokenSource token_source(std::move(tokens.list));
    antlr4::CommonTokenStream stream(&token_source);
    CleaveParser parser(&stream);
    parser.removeErrorListeners();
    parser.setErrorHandler(std::make_shared<SyntaxErrorStrategy>(places, syntax_errors));
    CleaveParser::FileContext& tree = *parser.file();
    const bool is_whole = errors.empty() && syntax_errors.empty() && brackets.errors.empty();
    if (is_whole || wants_what_fits) file.items = TreeBuilder(places, is_whole, errors).BuildItems(tree);
  }
  DropExplained(brackets.errors, after_bad_characters, syntax_errors);
  for (BracketError& error : brackets.errors) errors.push_back(std::move(error.diagnostic));
  for (SyntaxError& error : syntax_errors) errors.push_back(std::move(error.diagnostic));
  AddInOrder(std::move(errors), diagnostics);
  return file;
}

}  // namespace

std::optional<syntax::File> Parse(FileId id, const SourceSet& sources, Diagnostics& diagnostics) {
  const int errors = diagnostics.error_count();
  syntax::File file = ParseFile(id, sources, /*wants_what_fits=*/false, diagnostics);
  if (diagnostics.error_count() > errors) return std::nullopt;
  return file;
}

syntax::File ParseWhatFits(FileId id, const SourceSet& sources, Diagnostics& diagnostics) {
  return ParseFile(id, sources, /*wants_what_fits=*/true, diagnostics);
}

}  // namespace cleave::dsl
