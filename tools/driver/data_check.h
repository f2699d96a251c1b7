// Checks the data of a model against its inputs, as far as it is there. The compiler reports errors at the place where
// the model names the data; a program checks again before it starts.
#ifndef CLEAVE_TOOLS_DRIVER_DATA_CHECK_H_
#define CLEAVE_TOOLS_DRIVER_DATA_CHECK_H_

#include "base/diagnostic/diagnostic.h"
#include "frontend/frontend.h"

namespace cleave::tools {

// Reports E0516 where evaluations are asked for and the data has no samples for them. E0513 to E0515 for .npy files, by
// their headers and sizes. If a program is to be made, also E0512 and E0515 for other data, for which all of MNIST and
// of texts is read: a plan may be made for sizes that the data at hand does not have. W0617 for files that do not
// exist. Returns false after an error. Paths are relative to the folder of the model file.
bool CheckData(const frontend::Module& module, bool makes_program, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_DATA_CHECK_H_
