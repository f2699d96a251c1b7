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

bool CheckPrecision(const frontend::Module& module, const std::string& target, const search::PeakRates& peak,
                    Diagnostics& diagnostics) {
  if (module.training.precision == ir::Precision::kFp8) {
    const auto refuse = [&](const char* message, const char* label, const char* note, const char* help) {
      diagnostics.Add(Error(Code::kE0508, message)
                          .At(module.precision_place, label)
                          .Note(note)
                          .Help("`precision = bf16`")
                          .Help(help));
      return false;
    };
    if (module.graph.is_manual()) {
      return refuse(
          "`precision = fp8` in a manual model", "needs the largest magnitude of whole tensors",
          "what ranks tell each other a manual model says itself, and a rank knows its own parts of tensors only",
          "without `manual`, the compiler finds it out on all ranks together");
    }
    if (target == "cuda" && peak.fp8 == 0) {
      return refuse("`precision = fp8` for a device that does not multiply fp8", "asked for here",
                    "GPUs multiply fp8 from Ada and Hopper (H100) on, and their cluster states `fp8` among its peaks",
                    "`--cluster h100x8`, or `\"fp8\"` in `\"peak\"` of the cluster file");
    }
  }
  if (module.training.precision != ir::Precision::kTf32 || target != "cpu") return true;
  diagnostics.Add(Warning(Code::kW0618, "`precision = tf32` is f32 on the CPU")
                      .At(module.precision_place, "multiplies in f32 here")
                      .Note("tf32 is a format of the matrix units of GPUs")
                      .Help("`--target cuda`, or `precision = bf16`, which both targets have"));
  return true;
}

bool CheckMultipliesIn8Bits(const frontend::Module& module, const ir::Graph& lowered, Diagnostics& diagnostics) {
  if (module.training.precision != ir::Precision::kFp8) return true;
  const auto is_in_8_bits = [](const ir::Op& op) { return op.kind == ir::OpKind::kScaledMatmul; };
  if (std::any_of(lowered.ops.begin(), lowered.ops.end(), is_in_8_bits)) return true;
  diagnostics.Add(Error(Code::kE0508, "no product of the model can be in fp8")
                      .At(module.precision_place, "changes nothing but what bf16 does")
                      .Note("in fp8 are `matmul`s of a weight whose sizes are multiples of 16, but for those that read "
                            "inputs only, and "
                            "those whose result reaches the loss or a ranking without another product")
                      .Help("`precision = bf16`"));
  return false;
}

}  // namespace cleave::tools
