#include "tools/driver/target_check.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cleave::tools {

bool CheckRegionDevices(const ir::Pins& pins, const std::string& target, Diagnostics& diagnostics) {
  const ir::RegionDevice ours = target == "cuda" ? ir::RegionDevice::kGpu : ir::RegionDevice::kCpu;
  bool all_ours = true;
  for (const ir::Region& region : pins.regions) {
    if (region.device == ir::RegionDevice::kAny || region.device == ours) continue;
    all_ours = false;
    const char* const named = region.device == ir::RegionDevice::kGpu ? "gpu" : "cpu";
    diagnostics.Add(Error(Code::kE0324, absl::StrCat("region `", region.name, "` is for the ", named,
                                                     ", and programs are generated for the target ", target))
                        .At(region.device_span, "another device than the target's")
                        .Note("all ops of a program run on one kind of device")
                        .Help(absl::StrCat("leave `device` out, or compile with `--target ",
                                           region.device == ir::RegionDevice::kGpu ? "cuda" : "cpu", "`")));
  }
  return all_ours;
}

bool CheckOffload(const ir::Pins& pins, const std::string& target, Diagnostics& diagnostics) {
  if (target == "cuda") return true;
  std::vector<Span> refused;  // An attribute may be about many ops.
  for (const ir::RetentionPin& pin : pins.retentions) {
    if (pin.retention != ir::Retention::kOffload) continue;
    if (std::find(refused.begin(), refused.end(), pin.span) != refused.end()) continue;
    refused.push_back(pin.span);
    diagnostics.Add(Error(Code::kE0316, "`offload` in a program for the CPU")
                        .At(pin.span, "tells values to wait in the host's memory, where all of them are")
                        .Note("only GPUs have memory besides that of their host")
                        .Help("leave it out, write `recompute`, or compile with `--target cuda`"));
  }
  return refused.empty();
}

void CheckPrecision(const frontend::Module& module, const std::string& target, Diagnostics& diagnostics) {
  if (module.training.precision != ir::Precision::kTf32 || target != "cpu") return;
  diagnostics.Add(Warning(Code::kW0618, "`precision = tf32` is f32 on the CPU")
                      .At(module.precision_place, "multiplies in f32 here")
                      .Note("tf32 is a format of the matrix units of GPUs")
                      .Help("`--target cuda`, or `precision = bf16`, which both targets have"));
}

}  // namespace cleave::tools
