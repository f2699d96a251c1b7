// Private to tools/fmt: another text in the place of a file.
#ifndef CLEAVE_TOOLS_FMT_REPLACE_FILE_H_
#define CLEAVE_TOOLS_FMT_REPLACE_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace cleave::tools {

// Puts `after` in the place of the file that holds `before`, also where a symbolic link leads to it: the whole of it,
// or nothing. Mode and owner stay. Unavailable where it cannot be written; Aborted where it holds something else, as
// after an editor has saved it.
absl::Status ReplaceFile(const std::string& path, const std::string& before, const std::string& after);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_FMT_REPLACE_FILE_H_
