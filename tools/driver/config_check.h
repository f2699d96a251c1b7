// Compares the config.json beside the file that `params` names with numbers that shapes do not show: the base of rotary
// positions, the epsilon of norms, and the heads of attention.
#ifndef CLEAVE_TOOLS_DRIVER_CONFIG_CHECK_H_
#define CLEAVE_TOOLS_DRIVER_CONFIG_CHECK_H_

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "frontend/frontend.h"

namespace cleave::tools {

// Returns false after an E0514 for each number of config.json that none of the model's ops has, though it has such ops.
// One op with the number is enough: in some families a norm has an epsilon of its own, and config.json may name several
// bases. `module`: with attention joined, and with paths from the working directory; `file`: of the model.
bool CheckConfig(const frontend::Module& module, FileId file, const SourceSet& sources, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_CONFIG_CHECK_H_
