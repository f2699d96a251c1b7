// Private to runtime/chat_template: the parts of a template, its text between tags and the words within them.
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_SCAN_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_SCAN_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/chat_template/chat_template.h"

namespace cleave::runtime {

struct TemplateToken {
  enum class Kind {
    kText,         // Between tags, without the white space that tags take away.
    kBeginOutput,  // {{
    kEndOutput,
    kBeginBlock,  // {%
    kEndBlock,
    kName,
    kString,  // text: what stands between its quotes, without escapes
    kWhole,
    kFloat,
    kSign,  // text: "==", "(", …
    kEnd,   // Of the template.
  };
  Kind kind;
  size_t offset;
  std::string text;
};

// All tokens of a template, kEnd the last.
std::optional<TemplateProblem> ScanTemplate(const std::string& text, std::vector<TemplateToken>& tokens);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_SCAN_H_
