// The .npy files that a model names, looked at as far as their headers and sizes go. What is wrong with one that is
// there is said by the compiler, where the file is named; a program looks again before it starts.
#ifndef CLEAVE_TOOLS_DRIVER_FILES_H_
#define CLEAVE_TOOLS_DRIVER_FILES_H_

#include "base/diagnostic/diagnostic.h"
#include "frontend/frontend.h"

namespace cleave {

// Reports E0513 to E0515 of files that are there, and W0617 of one that is not; false after an error. Paths start from
// the folder of the model file, as the model writes them.
bool CheckFiles(const Module& module, Diagnostics& diagnostics);

}  // namespace cleave

#endif  // CLEAVE_TOOLS_DRIVER_FILES_H_
