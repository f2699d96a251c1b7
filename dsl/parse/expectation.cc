#include "dsl/parse/expectation.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dsl/grammar/CleaveLexer.h"
#include "dsl/grammar/CleaveParser.h"

namespace cleave::dsl {
namespace {

using antlr4::misc::IntervalSet;
using grammar::CleaveLexer;
using grammar::CleaveParser;

struct Sign {
  size_t type;
  absl::string_view text;
};

// Signs that end or separate something, in the order in which they are named.
constexpr Sign kSeparators[] = {
    {CleaveLexer::ASSIGN, "="}, {CleaveLexer::ARROW, "->"},   {CleaveLexer::COLON, ":"},
    {CleaveLexer::COMMA, ","},  {CleaveLexer::RANGE, ".."},   {CleaveLexer::SEMICOLON, ";"},
    {CleaveLexer::RPAREN, ")"}, {CleaveLexer::RBRACKET, "]"}, {CleaveLexer::RBRACE, "}"},
};

// Signs that open or begin something: named only where nothing that begins with them has been named.
constexpr Sign kOpeners[] = {
    {CleaveLexer::LPAREN, "("},
    {CleaveLexer::LBRACKET, "["},
    {CleaveLexer::LBRACE, "{"},
};

std::string NameInRule(size_t rule) {
  if (rule == CleaveParser::RuleType || rule == CleaveParser::RuleResults) return "a type";
  if (rule == CleaveParser::RuleAttribute || rule == CleaveParser::RuleAttributeBody) return "an attribute";
  if (rule == CleaveParser::RuleTrain || rule == CleaveParser::RuleOpDefinition) return "a setting";
  if (rule == CleaveParser::RuleParallel) return "a setting, a pin";
  if (rule == CleaveParser::RuleRecord) return "a field";
  return "a name";
}

std::string Quoted(absl::string_view text) { return absl::StrCat("`", text, "`"); }

// "a", "a or b", "a, b or c".
std::string JoinChoices(const std::vector<std::string>& choices) {
  if (choices.size() < 2) return absl::StrJoin(choices, "");
  return absl::StrCat(absl::StrJoin(choices.begin(), choices.end() - 1, ", "), " or ", choices.back());
}

}  // namespace

std::string DescribeExpected(const IntervalSet& expected, size_t rule) {
  const auto allows = [&](size_t type) { return expected.contains(type); };
  std::vector<std::string> choices;
  bool names_openers = false;
  if (allows(CleaveLexer::FN)) {
    choices = {"`import`", "`record`", "`model`", "`fn`", "`op`", "`train`", "`parallel`", "`expect`"};
    names_openers = true;
  } else if (allows(CleaveLexer::LET)) {
    choices = {"a statement"};
    names_openers = true;
  } else if (allows(CleaveLexer::INTEGER)) {
    choices = {"an expression"};
    names_openers = true;
  } else if (allows(CleaveLexer::NAME)) {
    choices = {NameInRule(rule)};
    names_openers = true;
  } else if (allows(CleaveLexer::STRING)) {
    choices = {"a string"};
  } else if (allows(CleaveLexer::IN)) {
    choices = {"`in`"};
  }
  const bool continues_expression = allows(CleaveLexer::STAR);
  for (const Sign& sign : kSeparators) {
    if (sign.type == CleaveLexer::RANGE && names_openers) continue;
    // The name may be a word of the language; then what may follow that word is the better guess.
    if (sign.type == CleaveLexer::ASSIGN && allows(CleaveLexer::STRING) && !allows(CleaveLexer::INTEGER)) continue;
    if (allows(sign.type)) choices.push_back(Quoted(sign.text));
  }
  if (!names_openers && !continues_expression) {
    for (const Sign& sign : kOpeners) {
      if (allows(sign.type)) choices.push_back(Quoted(sign.text));
    }
  }
  if (choices.empty() && continues_expression) choices = {"an operator"};
  if (choices.empty()) choices = {"the end of the file"};
  return JoinChoices(choices);
}

std::string DescribeToken(size_t type, absl::string_view text) {
  constexpr size_t kLongestShown = 40;
  if (type == antlr4::Token::EOF) return "the end of the file";
  if (type == CleaveLexer::STRING) return "the string";
  if (text.size() > kLongestShown) return type == CleaveLexer::NAME ? "the name" : "the number";
  return Quoted(text);
}

bool IsReservedWord(size_t type) {
  switch (type) {
    case CleaveLexer::FN:
    case CleaveLexer::LET:
    case CleaveLexer::MUT:
    case CleaveLexer::FOR:
    case CleaveLexer::IF:
    case CleaveLexer::ELSE:
    case CleaveLexer::RETURN:
    case CleaveLexer::TRUE:
    case CleaveLexer::FALSE:
    case CleaveLexer::WITH:
      return true;
    default:
      return false;
  }
}

}  // namespace cleave::dsl
