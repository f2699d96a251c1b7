#include "tools/watch/table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/json/json.h"

namespace cleave::tools {
namespace {

// RFC 4180.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string CsvNumber(double value) {
  constexpr double kMost = 1e15;
  if (value == std::trunc(value) && std::abs(value) < kMost) return absl::StrCat(static_cast<int64_t>(value));
  return Json(value).dump();
}

}  // namespace

std::string CsvText(const std::vector<const Curve*>& curves) {
  std::string text = "step";
  for (const Curve* curve : curves) absl::StrAppend(&text, ",", CsvField(curve->name));
  text += "\n";
  std::vector<size_t> next(curves.size(), 0);
  while (true) {
    // The points of a curve are in the order of steps.
    int64_t step = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < curves.size(); ++i) {
      if (next[i] < curves[i]->points.size()) step = std::min(step, curves[i]->points[next[i]].step);
    }
    if (step == std::numeric_limits<int64_t>::max()) return text;
    absl::StrAppend(&text, step);
    for (size_t i = 0; i < curves.size(); ++i) {
      const std::vector<Point>& points = curves[i]->points;
      const bool has_one = next[i] < points.size() && points[next[i]].step == step;
      absl::StrAppend(&text, ",", has_one ? CsvNumber(points[next[i]++].value) : "");
    }
    text += "\n";
  }
}

}  // namespace cleave::tools
