#include "tools/weights/rearrange.h"

#include <algorithm>

namespace cleave::tools {

std::vector<float> Transposed(const std::vector<float>& values, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 32;  // Of both dimensions: what is read and written at a time stays in the cache.
  std::vector<float> result(values.size());
  for (int64_t row = 0; row < rows; row += kTile) {
    for (int64_t column = 0; column < columns; column += kTile) {
      for (int64_t i = row; i < std::min(row + kTile, rows); ++i) {
        for (int64_t j = column; j < std::min(column + kTile, columns); ++j) {
          result[static_cast<size_t>(j * rows + i)] = values[static_cast<size_t>(i * columns + j)];
        }
      }
    }
  }
  return result;
}

std::vector<float> Swapped(const std::vector<float>& values, int64_t outer, int64_t inner) {
  std::vector<float> result(values.size());
  const int64_t block = static_cast<int64_t>(values.size()) / (outer * inner);
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < inner; ++j) {
      std::copy_n(values.begin() + (i * inner + j) * block, block, result.begin() + (j * outer + i) * block);
    }
  }
  return result;
}

}  // namespace cleave::tools
