// Whether the demands of a model suit the target for which programs are generated, "cpu" or "cuda".
#ifndef CLEAVE_TOOLS_DRIVER_TARGET_CHECK_H_
#define CLEAVE_TOOLS_DRIVER_TARGET_CHECK_H_

#include <string>

#include "base/diagnostic/diagnostic.h"
#include "frontend/frontend.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::tools {

// Reports E0324 for each region with another device than that of `target`; returns whether there is none.
bool CheckRegionDevices(const ir::Pins& pins, const std::string& target, Diagnostics& diagnostics);

// Reports E0316 for each `offload` where `target` is "cpu"; returns whether there is none.
bool CheckOffload(const ir::Pins& pins, const std::string& target, Diagnostics& diagnostics);

// Reports W0618 where the model's precision is one that `target` does not have.
void CheckPrecision(const frontend::Module& module, const std::string& target, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_TARGET_CHECK_H_
