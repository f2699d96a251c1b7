// The prelude as a file, so that every editor can open what its functions are declared in.
#ifndef CLEAVE_TOOLS_LSP_PRELUDE_FILE_H_
#define CLEAVE_TOOLS_LSP_PRELUDE_FILE_H_

#include <string>

namespace cleave::tools {

// ${XDG_CACHE_HOME:-~/.cache}/cleave/prelude.model; empty where nothing says where the cache is.
std::string PreludePath();

// Writes the prelude of this compiler there, read-only, where it is not there already. Returns PreludePath(); empty
// where it cannot be written.
std::string WrittenPrelude();

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_PRELUDE_FILE_H_
