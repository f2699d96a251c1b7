#include "search/model/cluster/quantity.h"

#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check/check.h"

namespace cleave::search {
namespace {

struct Unit {
  std::string name;
  double size;
  bool written = true;  // FormatQuantity uses it.
};

// "B", "KB", … by thousands, ascending.
std::vector<Unit> Prefixed(absl::string_view unit, absl::string_view suffix) {
  std::vector<Unit> units;
  double size = 1;
  for (const char* prefix : {"", "K", "M", "G", "T", "P"}) {
    units.push_back({.name = absl::StrCat(prefix, unit, suffix), .size = size});
    size *= 1e3;
  }
  return units;
}

std::vector<Unit> ByteUnits(absl::string_view suffix) {
  std::vector<Unit> units = Prefixed("B", suffix);
  double size = 1024;
  for (const char* prefix : {"Ki", "Mi", "Gi", "Ti", "Pi"}) {
    units.push_back({.name = absl::StrCat(prefix, "B", suffix), .size = size, .written = false});
    size *= 1024;
  }
  return units;
}

// The units that FormatQuantity uses are in ascending order.
std::vector<Unit> UnitsOf(QuantityKind kind) {
  switch (kind) {
    case QuantityKind::kBytes:
      return ByteUnits("");
    case QuantityKind::kBytesPerSecond:
      return ByteUnits("/s");
    case QuantityKind::kSeconds:
      return {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    case QuantityKind::kFlops:
      return Prefixed("FLOP", "");
    case QuantityKind::kFlopsPerSecond:
      return Prefixed("FLOP", "/s");
  }
  CLEAVE_UNREACHABLE();
}

absl::string_view ExampleOf(QuantityKind kind) {
  switch (kind) {
    case QuantityKind::kBytes:
      return "\"80GiB\"";
    case QuantityKind::kBytesPerSecond:
      return "\"450GB/s\"";
    case QuantityKind::kSeconds:
      return "\"5us\"";
    case QuantityKind::kFlops:
      return "\"16GFLOP\"";
    case QuantityKind::kFlopsPerSecond:
      return "\"312TFLOP/s\"";
  }
  CLEAVE_UNREACHABLE();
}

// Where the number ends and the unit begins: after the longest beginning that is a number.
size_t EndOfNumber(absl::string_view text) {
  double ignored = 0;
  for (size_t end = text.size(); end > 0; --end) {
    if (absl::SimpleAtod(text.substr(0, end), &ignored)) return end;
  }
  return 0;
}

}  // namespace

absl::StatusOr<double> ParseQuantity(QuantityKind kind, absl::string_view text) {
  constexpr size_t kLongest = 40;  // Longer texts are not read, and messages repeat no more than this.
  const absl::string_view shown = text.substr(0, kLongest);
  const auto wrong = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("\"", shown, "\" ", why, "; expected one like ", ExampleOf(kind)));
  };
  const size_t end = text.size() <= kLongest ? EndOfNumber(text) : 0;
  if (end == 0) return wrong("is not a number with a unit");
  double number = 0;
  CLEAVE_CHECK(absl::SimpleAtod(text.substr(0, end), &number));
  const absl::string_view name = absl::StripAsciiWhitespace(text.substr(end));
  if (!std::isfinite(number)) return wrong("is not a finite number");
  if (number < 0) return wrong("is negative");
  if (name.empty()) return wrong("has no unit");
  for (const Unit& unit : UnitsOf(kind)) {
    if (unit.name == name) return number * unit.size;
  }
  return wrong("has an unknown unit");
}

std::string FormatQuantity(QuantityKind kind, double value) {
  const std::vector<Unit> units = UnitsOf(kind);
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (unit.written && value >= unit.size) best = &unit;
  }
  return absl::StrFormat("%.6g%s", value / best->size, best->name);
}

}  // namespace cleave::search
