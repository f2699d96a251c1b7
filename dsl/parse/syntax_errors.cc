#include "dsl/parse/syntax_errors.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "dsl/grammar/CleaveLexer.h"
#include "dsl/grammar/CleaveParser.h"
#include "dsl/parse/brackets.h"
#include "dsl/parse/expectation.h"

namespace cleave::dsl {
namespace {

using antlr4::Parser;
using antlr4::Token;
using antlr4::misc::IntervalSet;
using grammar::CleaveLexer;
using grammar::CleaveParser;

// Rules whose loops hold statements, settings and items: after an error, parsing goes on there.
bool IsList(size_t rule) {
  switch (rule) {
    case CleaveParser::RuleFile:
    case CleaveParser::RuleBlock:
    case CleaveParser::RuleTrain:
    case CleaveParser::RuleRecord:
    case CleaveParser::RuleParallel:
    case CleaveParser::RuleExpect:
    case CleaveParser::RuleOpDefinition:
      return true;
    default:
      return false;
  }
}

// A statement that lacks its semicolon ends before these.
bool BeginsAnew(size_t type) {
  return type == CleaveLexer::LET || type == CleaveLexer::FOR || type == CleaveLexer::IF ||
         type == CleaveLexer::RETURN || type == CleaveLexer::FN || type == CleaveLexer::RBRACE || type == Token::EOF;
}

bool BeginsStatement(size_t type) {
  return type == CleaveLexer::LET || type == CleaveLexer::FOR || type == CleaveLexer::IF ||
         type == CleaveLexer::RETURN || type == CleaveLexer::PARAM || type == CleaveLexer::INPUT ||
         type == CleaveLexer::LOSS || type == CleaveLexer::METRIC || type == CleaveLexer::PRINT ||
         type == CleaveLexer::STATE || type == CleaveLexer::UPDATE;
}

bool IsComparison(size_t type) {
  return type == CleaveLexer::EQUAL || type == CleaveLexer::NOT_EQUAL || type == CleaveLexer::LESS ||
         type == CleaveLexer::LESS_EQUAL || type == CleaveLexer::GREATER || type == CleaveLexer::GREATER_EQUAL;
}

// The last token before `token` that the parser has seen; null at the start of the file.
Token* Previous(Parser& parser, const Token& token) {
  for (size_t i = token.getTokenIndex(); i > 0; --i) {
    Token* candidate = parser.getTokenStream()->get(i - 1);
    if (candidate->getChannel() == Token::DEFAULT_CHANNEL) return candidate;
  }
  return nullptr;
}

// Consumes one token, or everything from an opening bracket to its partner; stops short of the end and of `fn`.
void SkipOne(Parser& parser) {
  int depth = 0;
  do {
    const size_t type = parser.getTokenStream()->LA(1);
    if (type == Token::EOF || (depth > 0 && type == CleaveLexer::FN)) return;
    if (IsOpening(type)) ++depth;
    if (IsClosing(type)) --depth;
    parser.consume();
  } while (depth > 0);
}

// Whether the parser stands before the `{` of a body: then an error stops there, and the body is parsed.
bool InHeader(const antlr4::RuleContext* context) {
  for (; context != nullptr; context = static_cast<const antlr4::RuleContext*>(context->parent)) {
    switch (context->getRuleIndex()) {
      case CleaveParser::RuleBlock:
      case CleaveParser::RuleSetting:
      case CleaveParser::RuleField:
      case CleaveParser::RulePin:
        return false;
      case CleaveParser::RuleParameters:
      case CleaveParser::RuleType:
        if (context->parent != nullptr &&
            IsList(static_cast<const antlr4::RuleContext*>(context->parent)->getRuleIndex())) {
          return true;
        }
        break;
      case CleaveParser::RuleModel:
      case CleaveParser::RuleFunction:
      case CleaveParser::RuleForLoop:
      case CleaveParser::RuleConditional:
        return true;
      default:
        break;
    }
  }
  return false;
}

// Whether the rule has read an opening bracket and not its partner: the text up to the partner is lost with the rule.
// The braces of bodies do not count, because bodies have their own rules.
bool HasOpenBracket(const antlr4::ParserRuleContext& context) {
  if (IsList(context.getRuleIndex())) return false;
  int depth = 0;
  for (antlr4::tree::ParseTree* child : context.children) {
    const auto* terminal = dynamic_cast<antlr4::tree::TerminalNode*>(child);
    if (terminal == nullptr) continue;
    const size_t type = const_cast<antlr4::tree::TerminalNode*>(terminal)->getSymbol()->getType();
    depth += IsOpening(type) ? 1 : IsClosing(type) ? -1 : 0;
  }
  return depth > 0;
}

// The tokens that were possible: for a decision that looked ahead, those that were possible after the tokens that it
// had read.
IntervalSet ExpectedTokens(Parser& parser, const antlr4::RecognitionException& exception) {
  if (const auto* no_alternative = dynamic_cast<const antlr4::NoViableAltException*>(&exception)) {
    if (const antlr4::atn::ATNConfigSet* dead_ends = no_alternative->getDeadEndConfigs()) {
      IntervalSet expected;
      for (const auto& config : dead_ends->configs) {
        for (const auto* transition : config->state->transitions) {
          if (!transition->isEpsilon()) expected.addAll(transition->label());
        }
      }
      if (!expected.isEmpty()) return expected;
    }
    return parser.getExpectedTokens();
  }
  return exception.getExpectedTokens();
}

// The word of the language that `token` may be a misspelling of: one that begins a statement or an item.
std::optional<std::string> MisspelledWord(const Token& token, absl::string_view text, size_t rule) {
  if (token.getType() != CleaveLexer::NAME) return std::nullopt;
  const std::vector<std::string> items = {"import", "record", "model", "fn", "op", "train", "parallel", "expect"};
  const std::vector<std::string> statements = {"let",   "for",  "if",     "else",   "param", "state",        "update",
                                               "input", "loss", "metric", "return", "print", "assert_finite"};
  if (rule == CleaveParser::RuleFile) return NearestName(text, items);
  if (rule == CleaveParser::RuleBlock || rule == CleaveParser::RuleStatement) return NearestName(text, statements);
  return std::nullopt;
}

}  // namespace

void SyntaxErrorStrategy::reset(Parser*) { recovering_ = false; }

bool SyntaxErrorStrategy::inErrorRecoveryMode(Parser*) { return recovering_; }

void SyntaxErrorStrategy::reportMatch(Parser*) {
  recovering_ = false;
  last_sync_ = SIZE_MAX;
}

IntervalSet SyntaxErrorStrategy::WithLastDecision(Parser& parser, const Token& found, IntervalSet expected) const {
  if (decision_context_ != parser.getContext() || decision_token_ != found.getTokenIndex()) return expected;
  const antlr4::atn::ATN& atn = parser.getATN();
  expected.addAll(atn.nextTokens(atn.states[decision_state_]));
  expected.remove(Token::EPSILON);
  return expected;
}

void SyntaxErrorStrategy::Report(Parser& parser, Token& found, const IntervalSet& expected_after_decision) {
  if (recovering_) return;
  recovering_ = true;
  const IntervalSet expected = WithLastDecision(parser, found, expected_after_decision);
  errors_.push_back({.token = found.getTokenIndex(), .diagnostic = MakeDiagnostic(parser, found, expected)});
}

Diagnostic SyntaxErrorStrategy::MakeDiagnostic(Parser& parser, Token& found, const IntervalSet& expected) {
  // A name has its own rule; the rule around it says what it names.
  const auto* context = static_cast<const antlr4::RuleContext*>(parser.getContext());
  if (context->getRuleIndex() == CleaveParser::RuleName && context->parent != nullptr) {
    context = static_cast<const antlr4::RuleContext*>(context->parent);
  }
  const size_t rule = context->getRuleIndex();
  const std::string what = DescribeExpected(expected, rule);
  const std::string found_text = DescribeToken(found.getType(), places_.TextOf(found));
  const Token* previous = Previous(parser, found);
  Diagnostic diagnostic = Error(Code::kE0101, absl::StrCat("expected ", what));
  const bool is_on_later_line =
      previous != nullptr && (found.getLine() != previous->getLine() || found.getType() == Token::EOF);
  // Statements and items begin lines, so nothing is wrong with the line before.
  const bool expects_line = expected.contains(size_t{CleaveLexer::LET}) || expected.contains(size_t{CleaveLexer::FN}) ||
                            (IsList(rule) && expected.contains(size_t{CleaveLexer::NAME}));
  if (previous != nullptr && !(is_on_later_line && expects_line)) {
    absl::StrAppend(&diagnostic.message, " after ", DescribeToken(previous->getType(), places_.TextOf(*previous)));
  }
  if (is_on_later_line && !expects_line) {
    const Span before = places_.SpanOf(*previous);
    std::move(diagnostic)
        .At(Span{.file = before.file, .begin = before.end, .end = before.end},
            absl::StrCat("found ", found_text, " instead"));
  } else if (IsReservedWord(found.getType()) && expected.contains(size_t{CleaveLexer::NAME})) {
    std::move(diagnostic).At(places_.SpanOf(found), absl::StrCat(found_text, " is a reserved word"));
    skips_next_ = true;
  } else {
    std::move(diagnostic).At(places_.SpanOf(found), absl::StrCat("found ", found_text));
  }
  std::optional<std::string> word;
  if (previous != nullptr) word = MisspelledWord(*previous, places_.TextOf(*previous), rule);
  if (!word) word = MisspelledWord(found, places_.TextOf(found), rule);
  if (word) {
    std::move(diagnostic).Help(absl::StrCat("did you mean `", *word, "`?"));
  } else if (IsComparison(found.getType())) {
    std::move(diagnostic).Help("comparisons do not chain; put one of them in parentheses");
  } else if (rule == CleaveParser::RuleItem || rule == CleaveParser::RuleFile) {
    if (BeginsStatement(found.getType())) {
      std::move(diagnostic).Help("statements belong in the body of a `model` or `fn`");
    }
  }
  return diagnostic;
}

void SyntaxErrorStrategy::reportError(Parser* parser, const antlr4::RecognitionException& exception) {
  if (!recovering_) Report(*parser, *exception.getOffendingToken(), ExpectedTokens(*parser, exception));
}

Token* SyntaxErrorStrategy::recoverInline(Parser* parser) {
  Token* found = parser->getCurrentToken();
  const IntervalSet expected = parser->getExpectedTokens();
  const Token* previous = Previous(*parser, *found);
  const bool is_over = BeginsAnew(found->getType()) || (previous != nullptr && previous->getLine() != found->getLine());
  if (!expected.contains(size_t{CleaveLexer::SEMICOLON}) || !is_over) throw antlr4::InputMismatchException(parser);
  Report(*parser, *found, expected);
  missing_.push_back(std::make_unique<antlr4::CommonToken>(CleaveLexer::SEMICOLON, ";"));
  return missing_.back().get();
}

void SyntaxErrorStrategy::recover(Parser* parser, std::exception_ptr) {
  const bool stops_at_body = InHeader(parser->getContext());
  const bool is_within_brackets = HasOpenBracket(*parser->getContext());
  if (std::exchange(skips_next_, false)) parser->consume();
  while (true) {
    const size_t type = parser->getTokenStream()->LA(1);
    if (IsClosing(type) && is_within_brackets) {
      parser->consume();
      return;
    }
    if (type == CleaveLexer::COMMA && !is_within_brackets) return;
    if (BeginsAnew(type) || IsClosing(type) || type == CleaveLexer::SEMICOLON) return;
    if (type == CleaveLexer::LBRACE && stops_at_body) return;
    SkipOne(*parser);
  }
}

void SyntaxErrorStrategy::sync(Parser* parser) {
  const auto* context = static_cast<const antlr4::RuleContext*>(parser->getContext());
  decision_context_ = context;
  decision_state_ = parser->getState();
  decision_token_ = parser->getTokenStream()->index();
  if (!IsList(context->getRuleIndex())) return;
  antlr4::atn::ATNState* state = parser->getATN().states[parser->getState()];
  const auto kind = state->getStateType();
  if (kind != antlr4::atn::ATNState::STAR_LOOP_ENTRY && kind != antlr4::atn::ATNState::STAR_LOOP_BACK) return;
  const IntervalSet expected = parser->getATN().nextTokens(state);
  antlr4::TokenStream& stream = *parser->getTokenStream();
  if (!recovering_ && expected.contains(stream.LA(1))) return;
  if (!recovering_) Report(*parser, *stream.LT(1), expected);
  if (stream.index() == last_sync_) SkipOne(*parser);
  const bool in_file = context->getRuleIndex() == CleaveParser::RuleFile;
  // A name may begin a statement or a setting, but after an error only where the last one has clearly ended.
  while (stream.LA(1) != Token::EOF) {
    const size_t type = stream.LA(1);
    const Token* before = Previous(*parser, *stream.LT(1));
    const size_t last = before == nullptr ? Token::EOF : before->getType();
    const bool at_boundary =
        last == CleaveLexer::SEMICOLON || last == CleaveLexer::RBRACE || BeginsAnew(type) || in_file;
    if (at_boundary && expected.contains(type)) break;
    if (!in_file && (type == CleaveLexer::FN || type == CleaveLexer::RBRACE)) break;
    if (IsClosing(type)) {
      parser->consume();
    } else {
      SkipOne(*parser);
    }
    if (in_file && type == CleaveLexer::LBRACE && !expected.contains(stream.LA(1))) {
      // A whole item has been skipped, so an error behind it has its own reason.
      recovering_ = false;
      Report(*parser, *stream.LT(1), expected);
    }
  }
  last_sync_ = stream.index();
  recovering_ = !expected.contains(stream.LA(1));
}

}  // namespace cleave::dsl
