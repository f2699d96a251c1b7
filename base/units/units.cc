#include "base/units/units.h"

#include <array>
#include <cmath>

#include "absl/strings/str_format.h"

namespace cleave {

std::string FormatBytes(Bytes bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (std::abs(bytes.value()) < 1024) return absl::StrFormat("%d B", bytes.value());
  double value = static_cast<double>(bytes.value());
  size_t unit = 0;
  while (std::abs(value) >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string FormatSeconds(Seconds seconds) {
  const double value = seconds.value();
  if (std::abs(value) < 1e-6) return absl::StrFormat("%.0f ns", value * 1e9);
  if (std::abs(value) < 1e-3) return absl::StrFormat("%.1f us", value * 1e6);
  if (std::abs(value) < 1) return absl::StrFormat("%.2f ms", value * 1e3);
  return absl::StrFormat("%.2f s", value);
}

}  // namespace cleave
