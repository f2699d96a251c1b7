#include "dsl/parse/numbers.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"

namespace cleave::dsl {
namespace {

std::string WithoutSeparators(absl::string_view text) { return absl::StrReplaceAll(text, {{"_", ""}}); }

// The bytes of `B`, `KiB`, `MB`, ….
int64_t UnitBytes(absl::string_view unit) {
  const int64_t base = unit.size() == 3 ? 1024 : 1000;
  int64_t bytes = 1;
  switch (unit[0]) {
    case 'T':
      bytes *= base;
      [[fallthrough]];
    case 'G':
      bytes *= base;
      [[fallthrough]];
    case 'M':
      bytes *= base;
      [[fallthrough]];
    case 'K':
      bytes *= base;
  }
  return bytes;
}

}  // namespace

std::optional<int64_t> IntegerValue(absl::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(WithoutSeparators(text), &value)) return std::nullopt;
  return value;
}

std::optional<double> FloatValue(absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(WithoutSeparators(text), &value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<int64_t> SizeValue(absl::string_view text) {
  const size_t unit_begin = text.find_first_of("BKMGT");
  const absl::string_view digits = text.substr(0, unit_begin);
  const int64_t unit = UnitBytes(text.substr(unit_begin));
  if (digits.find('.') == absl::string_view::npos) {
    const std::optional<int64_t> count = IntegerValue(digits);
    if (!count || *count > std::numeric_limits<int64_t>::max() / unit) return std::nullopt;
    return *count * unit;
  }
  const std::optional<double> count = FloatValue(digits);
  const double bytes = count.value_or(0) * static_cast<double>(unit);
  if (!count || bytes >= 0x1p63) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::optional<double> TimeValue(absl::string_view text) {
  const size_t unit_begin = text.find_first_of("nums");
  const char unit = text[unit_begin];
  const std::optional<double> count = FloatValue(text.substr(0, unit_begin));
  if (!count) return std::nullopt;
  // A quotient is the nearest number to what is written: 3us is not 3 * 1e-6.
  return *count / (unit == 'n' ? 1e9 : unit == 'u' ? 1e6 : unit == 'm' ? 1e3 : 1);
}

}  // namespace cleave::dsl
