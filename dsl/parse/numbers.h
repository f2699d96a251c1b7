// The values of number literals.
#ifndef CLEAVE_DSL_PARSE_NUMBERS_H_
#define CLEAVE_DSL_PARSE_NUMBERS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace cleave::dsl {

// Each takes the text of one literal, digits optionally grouped by `_`, and returns nullopt when its value does not
// fit: past 2^63 - 1 for integers and bytes, past the largest double for floats.
std::optional<int64_t> IntegerValue(absl::string_view text);
std::optional<double> FloatValue(absl::string_view text);

// `40GiB`, `1.5MiB`, `512KB`, `64B`; a fraction of a byte is dropped.
std::optional<int64_t> SizeValue(absl::string_view text);

// `20ms`, `1.5s`: seconds.
std::optional<double> TimeValue(absl::string_view text);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_NUMBERS_H_
