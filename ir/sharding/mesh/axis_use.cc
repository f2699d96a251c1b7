#include "ir/sharding/mesh/axis_use.h"

#include "absl/strings/str_cat.h"

namespace cleave::ir {

absl::Status AxisUse::Add(AxisId axis) {
  if (axis.value() < 0 || axis.value() >= mesh_.axis_count()) {
    return absl::InvalidArgumentError(absl::StrCat("mesh axis ", axis.value(), " does not exist"));
  }
  if (used_[static_cast<size_t>(axis.value())]) {
    return absl::InvalidArgumentError(absl::StrCat("mesh axis `", mesh_.axis(axis).name, "` is used twice"));
  }
  used_[static_cast<size_t>(axis.value())] = true;
  return absl::OkStatus();
}

}  // namespace cleave::ir
