// Whether the regions of a model name the device for which programs are generated.
#ifndef CLEAVE_TOOLS_DRIVER_REGION_DEVICES_H_
#define CLEAVE_TOOLS_DRIVER_REGION_DEVICES_H_

#include <string>

#include "base/diagnostic/diagnostic.h"
#include "ir/pins/pins.h"

namespace cleave {

// E0324 for each region with another device than that of `target`, "cpu" or "cuda"; whether there is none.
bool CheckRegionDevices(const Pins& pins, const std::string& target, Diagnostics& diagnostics);

}  // namespace cleave

#endif  // CLEAVE_TOOLS_DRIVER_REGION_DEVICES_H_
