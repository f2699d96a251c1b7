// Quantities with their unit, as people write them in cluster files: "450GB/s", "5us", "80 GiB", "312TFLOP/s".
#ifndef CLEAVE_SEARCH_MODEL_CLUSTER_QUANTITY_H_
#define CLEAVE_SEARCH_MODEL_CLUSTER_QUANTITY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cleave::search {

enum class QuantityKind {
  kBytes,           // B, KB to PB by thousands, KiB to PiB by 1024.
  kBytesPerSecond,  // The same with /s.
  kSeconds,         // s, ms, us, ns
  kFlops,           // FLOP, KFLOP to PFLOP: floating-point operations.
  kFlopsPerSecond,  // The same with /s.
};

// In the base unit: bytes, seconds, operations. An InvalidArgument error where the number is not finite or negative, or
// the unit is missing or of another kind.
absl::StatusOr<double> ParseQuantity(QuantityKind kind, absl::string_view text);

// Six digits and the unit that leaves at least one before the point. REQUIRES: finite and not negative.
std::string FormatQuantity(QuantityKind kind, double value);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_CLUSTER_QUANTITY_H_
