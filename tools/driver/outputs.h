// `--output NAME`: the values that a program writes which predicts.
#ifndef CLEAVE_TOOLS_DRIVER_OUTPUTS_H_
#define CLEAVE_TOOLS_DRIVER_OUTPUTS_H_

#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "frontend/frontend.h"

namespace cleave::tools {

// Leaves in the module what these values need, and looks at them: no loss, no metrics, no inputs that only those read.
// A name is that of a `let` (frontend::FrontendOptions::outputs), or of an op as `--emit graph` shows it. Returns
// false, and reports E0610 or E0612, where there is no such value, or it does not have the samples as its first
// dimension.
bool KeepOutputs(const std::vector<std::string>& names, frontend::Module& module, Diagnostics& diagnostics);

// Leaves in the module what its looks need. REQUIRES: it has neither loss nor metrics nor updates of states.
void KeepLooks(frontend::Module& module);

// Leaves out what only training has: updates of states, looks at gradients and at the optimizer's state, dropout, and
// values that others take the place of (`while_training`).
void ForgetTraining(frontend::Module& module);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_OUTPUTS_H_
