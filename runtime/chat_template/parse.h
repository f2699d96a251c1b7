// Private to runtime/chat_template: from text to a tree.
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_PARSE_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_PARSE_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/chat_template/chat_template.h"
#include "runtime/chat_template/syntax.h"

namespace cleave::runtime {

struct ParsedTemplate {
  std::vector<TemplateNode> nodes;
  std::set<std::string> variables;  // All names.
  std::set<std::string> members;  // Behind `.` or in `[]`, before `in`, of `get`, and of filters such as `selectattr`.
  bool has_generation = false;
};

std::optional<TemplateProblem> ParseTemplate(const std::string& text, ParsedTemplate& parsed);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_PARSE_H_
