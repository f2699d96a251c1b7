// What can be written at a place, with its pages, and the signature of the call around it.
#ifndef CLEAVE_TOOLS_LSP_COMPLETION_H_
#define CLEAVE_TOOLS_LSP_COMPLETION_H_

#include <cstdint>
#include <string>

#include "base/json/json.h"
#include "tools/lsp/knowledge.h"
#include "tools/lsp/reading.h"

namespace cleave::tools {

// `folder`: of the file, for imports.
Json CompletionsAt(const Reading& reading, const Knowledge& knowledge, const std::string& folder, int32_t offset);

// Null outside of calls.
Json SignatureAt(const Reading& reading, int32_t offset);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_COMPLETION_H_
