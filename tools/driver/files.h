// Checks the headers and sizes of the .npy files that a model names. The compiler reports errors of a file that exists,
// at the place where the model names it; a program checks again before it starts.
#ifndef CLEAVE_TOOLS_DRIVER_FILES_H_
#define CLEAVE_TOOLS_DRIVER_FILES_H_

#include "base/diagnostic/diagnostic.h"
#include "frontend/frontend.h"

namespace cleave::tools {

// Reports E0513 to E0515 for files that exist, and W0617 for one that does not; returns false after an error. Paths are
// relative to the folder of the model file.
bool CheckFiles(const frontend::Module& module, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_FILES_H_
