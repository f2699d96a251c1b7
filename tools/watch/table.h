// Private to tools/watch: all curves as a table.
#ifndef CLEAVE_TOOLS_WATCH_TABLE_H_
#define CLEAVE_TOOLS_WATCH_TABLE_H_

#include <string>
#include <vector>

#include "tools/watch/curves.h"

namespace cleave::tools {

// CSV with a row for each step that one of the curves has, and a column for each of them; a field is empty where a
// curve has no number. Numbers read back exactly.
std::string CsvText(const std::vector<const Curve*>& curves);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WATCH_TABLE_H_
