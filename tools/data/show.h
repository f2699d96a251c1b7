// Private to tools/data: `cleave data show`.
#ifndef CLEAVE_TOOLS_DATA_SHOW_H_
#define CLEAVE_TOOLS_DATA_SHOW_H_

#include <optional>
#include <ostream>

#include "base/diagnostic/diagnostic.h"
#include "tools/data/options.h"

namespace cleave::tools {

// Prints the first rows of a folder that `cleave data chat` has made as text, and what the folder holds. What is
// learned is green, or between « and » without `has_colours`.
std::optional<Diagnostic> ShowData(const DataOptions& options, bool has_colours, std::ostream& out);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_SHOW_H_
