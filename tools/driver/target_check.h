// Whether the demands of a model suit the target for which programs are generated, "cpu" or "cuda".
#ifndef CLEAVE_TOOLS_DRIVER_TARGET_CHECK_H_
#define CLEAVE_TOOLS_DRIVER_TARGET_CHECK_H_

#include <string>

#include "base/diagnostic/diagnostic.h"
#include "frontend/frontend.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "search/model/cluster/cluster.h"

namespace cleave::tools {

// Reports E0324 for each region with another device than that of `target`; returns whether there is none.
bool CheckRegionDevices(const ir::Pins& pins, const std::string& target, Diagnostics& diagnostics);

// Reports E0316 for each `offload` where `target` is "cpu"; returns whether there is none.
bool CheckOffload(const ir::Pins& pins, const std::string& target, Diagnostics& diagnostics);

// Reports W0618 where the model's precision is one that `target` does not have, and E0508 for fp8 of a manual model or
// on a GPU that does not multiply it; returns whether it can be.
bool CheckPrecision(const frontend::Module& module, const std::string& target, const search::PeakRates& peak,
                    Diagnostics& diagnostics);

// Reports E0508 where nothing of a model in fp8 is multiplied in fp8; returns whether something is.
bool CheckMultipliesIn8Bits(const frontend::Module& module, const ir::Graph& lowered, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_TARGET_CHECK_H_
