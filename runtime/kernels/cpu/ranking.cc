#include "runtime/kernels/ranking.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// [outer, length, inner] around a dimension.
struct AxisView {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;

  AxisView(const std::vector<int64_t>& shape, int axis) {
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      (d < axis ? outer : d == axis ? length : inner) *= shape[static_cast<size_t>(d)];
    }
  }
};

// index[outer, inner] = of(x's elements along the axis, which are `inner` apart, the result's place).
template <typename Of>
void ForEachLine(const AxisView& view, const float* x, int32_t* index, Of of) {
  const int64_t lines = view.outer * view.inner;
#pragma omp parallel for if (lines * view.length >= kParallelElements)
  for (int64_t line = 0; line < lines; ++line) {
    const float* first = x + line / view.inner * view.length * view.inner + line % view.inner;
    index[line] = of(first, line);
  }
}

// Positions of the `count` first ranked elements of a row, or of all where it has fewer.
class Ranking {
 public:
  template <typename Before>
  const std::vector<int64_t>& First(int64_t length, int64_t count, Before before) {
    order_.resize(static_cast<size_t>(length));
    std::iota(order_.begin(), order_.end(), int64_t{0});
    const auto end = order_.begin() + std::min(length, count);
    std::partial_sort(order_.begin(), end, order_.end(), before);
    order_.erase(end, order_.end());
    return order_;
  }

  const std::vector<int64_t>& First(const float* row, int64_t length, int64_t count) {
    return First(length, count, [row](int64_t a, int64_t b) {
      return RanksBefore(row[a], row[b]) || (!RanksBefore(row[b], row[a]) && a < b);
    });
  }

 private:
  std::vector<int64_t> order_;
};

// Calls take(row, slot, position) for the k first ranked elements of every row of x.
template <typename Take>
void RankRows(const float* x, int64_t rows, int64_t columns, int64_t k, Take take) {
#pragma omp parallel if (rows * columns >= kParallelElements)
  {
    Ranking ranking;
#pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      int64_t slot = r * k;
      for (const int64_t position : ranking.First(x + r * columns, columns, k)) take(r, slot++, position);
    }
  }
}

// Calls take(slot, position in x, index in the whole row) for the candidates of every piece of every row.
template <typename Take>
void RankPieces(const float* x, int64_t rows, const PiecesOfRow& pieces, int64_t k, Take take) {
  if (pieces.count == 0) return;
  const int64_t first = Piece(pieces.elements, pieces.pieces, pieces.first).begin;
  const Range last = Piece(pieces.elements, pieces.pieces, pieces.first + pieces.count - 1);
  const int64_t columns = last.begin + last.size - first;
#pragma omp parallel if (rows * columns >= kParallelElements)
  {
    Ranking ranking;
#pragma omp for
    for (int64_t block = 0; block < rows * pieces.count; ++block) {
      const Range piece = Piece(pieces.elements, pieces.pieces, pieces.first + block % pieces.count);
      const int64_t begin = block / pieces.count * columns + piece.begin - first;
      int64_t slot = block * k;
      for (const int64_t position : ranking.First(x + begin, piece.size, k)) {
        take(slot++, begin + position, piece.begin + position);
      }
    }
  }
}

}  // namespace

void ArgMax(const float* x, const std::vector<int64_t>& shape, int axis, int32_t* index) {
  const AxisView view(shape, axis);
  ForEachLine(view, x, index, [&](const float* line, int64_t) {
    int64_t best = 0;
    for (int64_t i = 1; i < view.length; ++i) {
      if (RanksBefore(line[i * view.inner], line[best * view.inner])) best = i;
    }
    return static_cast<int32_t>(best);
  });
}

void FirstEqual(const float* x, const float* value, const std::vector<int64_t>& shape, int axis, int64_t first,
                int32_t* index) {
  const AxisView view(shape, axis);
  ForEachLine(view, x, index, [&](const float* line, int64_t place) {
    for (int64_t i = 0; i < view.length; ++i) {
      if (RankAlike(line[i * view.inner], value[place])) return static_cast<int32_t>(first + i);
    }
    return kNoIndex;
  });
}

void TopK(const float* x, int64_t rows, int64_t columns, int64_t k, float* y) {
  RankRows(x, rows, columns, k,
           [=](int64_t r, int64_t slot, int64_t position) { y[slot] = x[r * columns + position]; });
}

void TopKIndices(const float* x, int64_t rows, int64_t columns, int64_t k, int32_t* indices) {
  RankRows(x, rows, columns, k,
           [=](int64_t, int64_t slot, int64_t position) { indices[slot] = static_cast<int32_t>(position); });
}

void TopKCandidates(const float* x, int64_t rows, const PiecesOfRow& pieces, int64_t k, float* y) {
  std::fill(y, y + rows * pieces.count * k, -std::numeric_limits<float>::infinity());
  RankPieces(x, rows, pieces, k, [=](int64_t slot, int64_t position, int64_t) { y[slot] = x[position]; });
}

void TopKCandidateIndices(const float* x, int64_t rows, const PiecesOfRow& pieces, int64_t k, int32_t* indices) {
  std::fill(indices, indices + rows * pieces.count * k, kNoIndex);
  RankPieces(x, rows, pieces, k,
             [=](int64_t slot, int64_t, int64_t index) { indices[slot] = static_cast<int32_t>(index); });
}

void TopKMerge(const float* values, const int32_t* indices, int64_t rows, int64_t columns, int64_t k, int32_t* first) {
#pragma omp parallel if (rows * columns >= kParallelElements)
  {
    Ranking ranking;
#pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* value = values + r * columns;
      const int32_t* index = indices + r * columns;
      const auto before = [=](int64_t a, int64_t b) {
        return RanksBefore(value[a], value[b]) || (!RanksBefore(value[b], value[a]) && index[a] < index[b]);
      };
      int64_t slot = r * k;
      for (const int64_t position : ranking.First(columns, k, before)) first[slot++] = index[position];
    }
  }
}

void TopKGradient(const float* dy, const int32_t* indices, int64_t rows, int64_t k, int64_t first, int64_t columns,
                  float* dx) {
  std::fill(dx, dx + rows * columns, 0.0f);
  for (int64_t i = 0; i < rows * k; ++i) {
    const int64_t at = indices[i] - first;
    if (at >= 0 && at < columns) dx[i / k * columns + at] += dy[i];
  }
}

}  // namespace cleave::runtime
