#include "ir/ops/normalizing.h"

#include <cmath>

namespace cleave {

RowMoments MomentsOf(const double* row, int64_t length, double epsilon) {
  double sum = 0;
  for (int64_t c = 0; c < length; ++c) sum += row[c];
  const double mean = sum / static_cast<double>(length);
  double squares = 0;
  for (int64_t c = 0; c < length; ++c) squares += (row[c] - mean) * (row[c] - mean);
  return {.mean = mean, .inverse_deviation = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon)};
}

}  // namespace cleave
