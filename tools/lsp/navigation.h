// Where a name is declared and used, and what changes with it.
#ifndef CLEAVE_TOOLS_LSP_NAVIGATION_H_
#define CLEAVE_TOOLS_LSP_NAVIGATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/lsp/findings.h"
#include "tools/lsp/knowledge.h"
#include "tools/lsp/reading.h"

namespace cleave::tools {

// The declaration of what stands at a place of a text, and the place of its name there.
struct Declared {
  FileRange declaration;
  FileRange here;
};
std::optional<Declared> DeclaredAt(const Reading& reading, const Knowledge& knowledge, int32_t offset);

// The places in a text that name the declaration, itself among them and the first parts of pins' names, in order.
std::vector<FileRange> PlacesOf(const FileRange& declaration, const Reading& reading, const Knowledge& knowledge);

// The definitions of a model's text whose names ops begin with, as `h1` does in `pin "h1.weight"`.
std::vector<const frontend::TextDefinition*> NamesOfOps(const Reading& reading);

// Why a name cannot become another one in a text; OK where it can. `declaration` may be of another text.
absl::Status CanRename(const FileRange& declaration, const std::string& name, const Reading& reading,
                       const Knowledge& knowledge);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_NAVIGATION_H_
