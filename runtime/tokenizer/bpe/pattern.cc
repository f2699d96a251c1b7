#include "runtime/tokenizer/bpe/pattern.h"

namespace cleave::runtime {

Result<Regex> ReadPattern(const Fields& fields) {
  const Json* const pattern = fields.Find("pattern");
  if (pattern == nullptr) return WrongTokenizer(Format("has no `pattern` in %s", fields.what().c_str()));
  const Fields members(*pattern, "the pattern of " + fields.what());
  if (auto error = members.Only({"Regex", "String"})) return *error;
  if (members.Find("Regex") == nullptr) {
    const Result<std::string> literal = members.String("String");
    if (!literal.ok()) return literal.error();
    return Regex::Literal(literal.value());
  }
  const Result<std::string> expression = members.String("Regex");
  if (!expression.ok()) return expression.error();
  if (members.Find("String") == nullptr) return Regex::Compile(expression.value());
  return WrongTokenizer("has both `Regex` and `String` in " + members.what());
}

Result<std::string> ReplaceAll(const Regex& pattern, const std::string& content, const std::string& text) {
  const Result<std::vector<Regex::Match>> matches = pattern.FindAll(text);
  if (!matches.ok()) return matches.error();
  std::string replaced;
  size_t at = 0;
  for (const Regex::Match& match : matches.value()) {
    replaced.append(text, at, match.begin - at);
    replaced += content;
    at = match.end;
  }
  return replaced.append(text, at, text.size() - at);
}

}  // namespace cleave::runtime
