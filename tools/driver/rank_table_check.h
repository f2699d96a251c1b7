// Whether the rank table by which a program is to be started fits its plan.
#ifndef CLEAVE_TOOLS_DRIVER_RANK_TABLE_CHECK_H_
#define CLEAVE_TOOLS_DRIVER_RANK_TABLE_CHECK_H_

#include <string>

#include "base/diagnostic/diagnostic.h"

namespace cleave::tools {

// Returns false after E0609: the table at `path` cannot be read, or the number of ranks that it names is not `ranks`.
// Returns true if `path` is empty, because then there is no table.
bool CheckRankTable(const std::string& path, int ranks, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_RANK_TABLE_CHECK_H_
