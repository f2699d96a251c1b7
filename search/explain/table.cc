#include "search/explain/table.h"

#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/text/text.h"
#include "base/units/units.h"

namespace cleave::search {

std::string Wrapped(const std::string& head, const std::string& text, size_t indent) {
  std::string result, line = head;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!line.empty() && line.size() + 1 + word.size() > kColumns) {
      absl::StrAppend(&result, line, "\n");
      line = std::string(indent, ' ');
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
    absl::StrAppend(&line, word);
  }
  return absl::StrCat(result, line, "\n");
}

std::string Clipped(const std::string& text, size_t width) {
  return text.size() <= width ? text : absl::StrCat(text.substr(0, width - 3), "...");
}

std::string Share(double part, double whole) { return whole > 0 ? absl::StrFormat("%.1f%%", 100 * part / whole) : "-"; }

std::string FormatFlops(Flops flops) {
  constexpr std::array<const char*, 6> kUnits = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
  double value = flops.value();
  if (std::abs(value) < 1000) return absl::StrFormat("%.0f %s", value, kUnits[0]);
  size_t unit = 0;
  while (std::abs(value) >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string AxesText(const ir::AxisList& axes, const ir::Mesh& mesh) {
  return absl::StrJoin(axes, " ",
                       [&](std::string* out, ir::AxisId axis) { absl::StrAppend(out, mesh.axis(axis).name); });
}

std::string CostText(double cost, const std::string& price) {
  if (price == "time") return FormatSeconds(Seconds(cost));
  return FormatCount(std::llround(cost));
}

}  // namespace cleave::search
