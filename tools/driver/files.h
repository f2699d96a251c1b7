// Checks the data of a model against its inputs, as far as the files are there: the headers and sizes of .npy files,
// and all of MNIST and of texts. The compiler reports errors at the place where the model names the data; a program
// checks again before it starts.
#ifndef CLEAVE_TOOLS_DRIVER_FILES_H_
#define CLEAVE_TOOLS_DRIVER_FILES_H_

#include "base/diagnostic/diagnostic.h"
#include "frontend/frontend.h"

namespace cleave::tools {

// Reports E0512 to E0515 for data that exists, and W0617 for a file that does not; returns false after an error. Paths
// are relative to the folder of the model file.
bool CheckFiles(const frontend::Module& module, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_FILES_H_
