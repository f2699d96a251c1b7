// What an editor shows of a text as a whole: its symbols, what can be folded, the kinds of its words, and the shapes
// that are not written.
#ifndef CLEAVE_TOOLS_LSP_OUTLINE_H_
#define CLEAVE_TOOLS_LSP_OUTLINE_H_

#include <string>
#include <vector>

#include "base/json/json.h"
#include "tools/lsp/knowledge.h"
#include "tools/lsp/reading.h"
#include "tools/lsp/text.h"

namespace cleave::tools {

// A text, and how places in it are counted.
struct Measured {
  const EditedText& text;
  Encoding encoding;
};

Json PositionJson(Position position);
Json RangeJson(const Measured& measured, int32_t begin, int32_t end);

Json SymbolsOf(const Reading& reading, const Measured& measured);
Json FoldsOf(const Reading& reading, const Measured& measured);

// The names of the kinds of words, in the order of their numbers.
std::vector<std::string> WordKindNames();
Json WordKindsOf(const Reading& reading, const Measured& measured);

// In [begin, end).
Json HintsOf(const Reading& reading, const Knowledge& knowledge, const Measured& measured, int32_t begin, int32_t end);

// The verdict of the plan above the `parallel` block, or above the model where there is none.
Json VerdictOf(const Reading& reading, const Knowledge& knowledge, const Measured& measured);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_OUTLINE_H_
