// What is shown about a place: its declaration, its type, what the plan does with its value, and its page.
#ifndef CLEAVE_TOOLS_LSP_HOVER_H_
#define CLEAVE_TOOLS_LSP_HOVER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/arguments/arguments.h"
#include "tools/lsp/knowledge.h"
#include "tools/lsp/reading.h"

namespace cleave::tools {

struct Shown {
  std::string markdown;
  int32_t begin = 0;
  int32_t end = 0;
};

std::optional<Shown> HoverAt(const Reading& reading, const Knowledge& knowledge, int32_t offset);

// "f32[8, 64]"; of several types the first ones.
std::string TypeText(const FoundValue& value);

// What can be called by a name, and what it does.
struct CallableFacts {
  frontend::Signature signature;
  std::string page;  // Markdown: a comment of the text, or of the reference.
};
std::optional<CallableFacts> CallableNamed(const Reading& reading, const std::string& name);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_HOVER_H_
