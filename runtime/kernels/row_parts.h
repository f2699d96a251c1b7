// How sums over the rows of a matrix are made, for each column: of parts of neighbouring rows, which are added up in
// order. How the rows are parted depends on the shape only, so that the same numbers give the same bits on any number
// of threads.
//
//   const RowParts parts = PartsOfRows(8192, 768);    // 512 parts of 16 rows.
#ifndef CLEAVE_RUNTIME_KERNELS_ROW_PARTS_H_
#define CLEAVE_RUNTIME_KERNELS_ROW_PARTS_H_

#include <algorithm>
#include <cstdint>

namespace cleave::runtime {

struct RowParts {
  int64_t count = 0;
  int64_t size = 1;  // Rows of a part; the last one may have fewer.
};

// As many parts as a GPU can work on at once, each in a block of threads, but so few that their sums are small beside
// the matrix. No parts where it has no elements.
inline RowParts PartsOfRows(int64_t rows, int64_t columns) {
  constexpr int64_t kLeastRows = 4;
  constexpr int64_t kMostSums = int64_t{1} << 18;  // Of all parts, where there are more than `fewest` parts.
  if (rows * columns == 0) return {};
  const int64_t fewest = columns <= 1024 ? 512 : 256;  // Where there are rows enough.
  const int64_t most = std::max(fewest, kMostSums / columns);
  const int64_t size = std::max(kLeastRows, (rows + most - 1) / most);
  return {(rows + size - 1) / size, size};
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_ROW_PARTS_H_
