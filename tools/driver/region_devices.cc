#include "tools/driver/region_devices.h"

#include "absl/strings/str_cat.h"

namespace cleave {

bool CheckRegionDevices(const Pins& pins, const std::string& target, Diagnostics& diagnostics) {
  const RegionDevice ours = target == "cuda" ? RegionDevice::kGpu : RegionDevice::kCpu;
  bool all_ours = true;
  for (const Region& region : pins.regions) {
    if (region.device == RegionDevice::kAny || region.device == ours) continue;
    all_ours = false;
    const char* const named = region.device == RegionDevice::kGpu ? "gpu" : "cpu";
    diagnostics.Add(Error(Code::kE0324, absl::StrCat("region `", region.name, "` is for the ", named,
                                                     ", and programs are generated for the target ", target))
                        .At(region.device_span, "another device than the target's")
                        .Note("all ops of a program run on one kind of device")
                        .Help(absl::StrCat("leave `device` out, or compile with `--target ",
                                           region.device == RegionDevice::kGpu ? "cuda" : "cpu", "`")));
  }
  return all_ours;
}

}  // namespace cleave
