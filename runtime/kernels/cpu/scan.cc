// A thread takes a block of neighbouring lines and goes along them, so the states of a block are a vector that stays in
// the cache, and at each step the elements of the block lie side by side.
#include "runtime/kernels/scan.h"

#include <algorithm>
#include <vector>

#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/cpu/row.h"
#include "runtime/kernels/scan_lines.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kLinesAtOnce = 512;  // Lines.

// Neighbouring lines: `count` of them from line `first` on, which have one outer index.
struct LineBlock {
  int64_t first;
  int64_t count;
};

// Calls visit(block) for all lines, in several threads where that pays.
template <typename Visit>
void ForEachBlock(const ScanLines& lines, Visit visit) {
  const int64_t blocks = (lines.inner + kLinesAtOnce - 1) / kLinesAtOnce;
#pragma omp parallel for if (lines.elements() >= kParallelElements)
  for (int64_t n = 0; n < lines.outer * blocks; ++n) {
    const int64_t begin = n % blocks * kLinesAtOnce;
    visit(LineBlock{n / blocks * lines.inner + begin, std::min(kLinesAtOnce, lines.inner - begin)});
  }
}

// The factors of the elements of a block at one place after another.
class Factors {
 public:
  Factors(ConstReals a, const ScanLines& lines, const LineBlock& block)
      : a_(a), along_(lines.along), count_(block.count) {
    for (int64_t j = 0; j < count_; ++j) places_[j] = lines.FactorOf(block.first + j);
    const auto all = [this](int64_t step) {
      for (int64_t j = 1; j < count_; ++j) {
        if (places_[j] != places_[0] + j * step) return false;
      }
      return true;
    };
    are_neighbors_ = all(1);
    are_one_ = all(0);
  }

  const float* At(int64_t place) {
    const ConstReals row = a_ + place * along_;
    if (are_neighbors_) return FloatsOf(row + places_[0], count_, values_);
    if (are_one_) {
      std::fill(values_, values_ + count_, row[places_[0]]);
    } else {
      for (int64_t j = 0; j < count_; ++j) values_[j] = row[places_[j]];
    }
    return values_;
  }

 private:
  const ConstReals a_;
  const int64_t along_, count_;
  bool are_neighbors_, are_one_;
  int64_t places_[kLinesAtOnce];
  float values_[kLinesAtOnce];
};

// Calls step(where the elements at a place lie, the place, their factors, their b) along a piece of the block.
template <typename Step>
void GoAlong(const ScanLines& lines, const LineBlock& block, const ScanPiece& piece, bool reverse, Factors& a,
             ConstReals b, Step step) {
  float values[kLinesAtOnce];
  for (int64_t i = piece.begin; i < piece.end; ++i) {
    const int64_t place = reverse ? piece.begin + piece.end - 1 - i : i;
    const int64_t at = lines.At(block.first, place);
    step(at, place, a.At(place), FloatsOf(b + at, block.count, values));
  }
}

// The states and results of a block, and what happens to both at each step, update(state, result, a, b, at): it is
// given the elements of one line.
template <typename Update>
void ScanWith(ConstReals a, const ScanLines& lines, ConstReals b, bool reverse, Reals y, Update update) {
  ForEachBlock(lines, [=](const LineBlock& block) {
    Factors factors(a, lines, block);
    float state[kLinesAtOnce] = {}, result[kLinesAtOnce];
    GoAlong(lines, block, {0, lines.length}, reverse, factors, b,
            [&](int64_t at, int64_t, const float* own, const float* term) {
              update(at, block.count, own, term, state, result);
              WriteReals(result, block.count, y + at);
            });
  });
}

// state = a state + b; with `is_before`, after the result was set to it, else before that.
template <bool is_before>
void Advance(int64_t n, const float* a, const float* b, float* state, float* result) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    const float next = a[j] * state[j] + b[j];
    result[j] = is_before ? state[j] : next;
    state[j] = next;
  }
}

template <bool is_before>
void ScanEachPiece(const float* a, const ScanLines& lines, const float* b, const float* carried, bool reverse,
                   const PiecesOfRow& pieces, float* y) {
  const int64_t row = LargestPieceOfLine(pieces);
  ForEachBlock(lines, [=](const LineBlock& block) {
    Factors factors(a, lines, block);
    const int64_t outer = block.first / lines.inner, inner = block.first % lines.inner;
    for (int64_t p = 0; p < pieces.count; ++p) {
      const ScanPiece piece = PieceOfLine(pieces, p);
      float state[kLinesAtOnce] = {};
      if (const int64_t before = PieceBefore(pieces, p, reverse); before >= 0) {
        std::copy_n(carried + (outer * pieces.pieces + before) * lines.inner + inner, block.count, state);
      }
      float* const first = y + (outer * pieces.count + p) * row * lines.inner + inner;
      GoAlong(lines, block, piece, reverse, factors, b,
              [&](int64_t, int64_t place, const float* own, const float* term) {
                Advance<is_before>(block.count, own, term, state, first + (place - piece.begin) * lines.inner);
              });
      for (int64_t i = piece.end - piece.begin; i < row; ++i) std::fill_n(first + i * lines.inner, block.count, 0.0f);
    }
  });
}

}  // namespace

void Scan(ConstReals a, const std::vector<int64_t>& a_sizes, ConstReals b, const std::vector<int64_t>& sizes, int axis,
          bool reverse, Reals h) {
  ScanWith(a, ScanLines(a_sizes, sizes, axis), b, reverse, h,
           [](int64_t, int64_t n, const float* own, const float* term, float* state, float* result) {
             Advance</*is_before=*/false>(n, own, term, state, result);
           });
}

void ScanGradientA(ConstReals a, const std::vector<int64_t>& a_sizes, ConstReals b, const std::vector<int64_t>& sizes,
                   ConstReals g, int axis, bool reverse, Reals da) {
  ScanWith(a, ScanLines(a_sizes, sizes, axis), b, reverse, da,
           [g](int64_t at, int64_t n, const float* own, const float* term, float* state, float* result) {
             float values[kLinesAtOnce];
             const float* const factor = FloatsOf(g + at, n, values);
             Advance</*is_before=*/true>(n, own, term, state, result);
#pragma omp simd
             for (int64_t j = 0; j < n; ++j) result[j] *= factor[j];
           });
}

void ScanGradientB(ConstReals a, const std::vector<int64_t>& a_sizes, ConstReals dy, const std::vector<int64_t>& sizes,
                   int axis, bool reverse, Reals db) {
  ScanWith(a, ScanLines(a_sizes, sizes, axis), dy, reverse, db,
           [](int64_t, int64_t n, const float* own, const float* term, float* state, float* result) {
#pragma omp simd
             for (int64_t j = 0; j < n; ++j) {
               result[j] = term[j] + state[j];
               state[j] = own[j] * result[j];
             }
           });
}

void ScanProducts(const float* a, const std::vector<int64_t>& a_sizes, int axis, const PiecesOfRow& pieces,
                  float* products) {
  const ScanLines lines(a_sizes, a_sizes, axis);
  ForEachBlock(lines, [=](const LineBlock& block) {
    Factors factors(a, lines, block);
    const int64_t outer = block.first / lines.inner, inner = block.first % lines.inner;
    for (int64_t p = 0; p < pieces.count; ++p) {
      float* const product = products + (outer * pieces.count + p) * lines.inner + inner;
      std::fill_n(product, block.count, 1.0f);
      GoAlong(lines, block, PieceOfLine(pieces, p), /*reverse=*/false, factors, a,
              [&](int64_t, int64_t, const float* own, const float*) {
#pragma omp simd
                for (int64_t j = 0; j < block.count; ++j) product[j] *= own[j];
              });
    }
  });
}

void ScanEnds(const float* a, const std::vector<int64_t>& a_sizes, const float* b, const std::vector<int64_t>& sizes,
              int axis, bool reverse, const PiecesOfRow& pieces, float* ends) {
  const ScanLines lines(a_sizes, sizes, axis);
  ForEachBlock(lines, [=](const LineBlock& block) {
    Factors factors(a, lines, block);
    const int64_t outer = block.first / lines.inner, inner = block.first % lines.inner;
    for (int64_t p = 0; p < pieces.count; ++p) {
      float* const end = ends + (outer * pieces.count + p) * lines.inner + inner;
      std::fill_n(end, block.count, 0.0f);
      GoAlong(lines, block, PieceOfLine(pieces, p), reverse, factors, b,
              [&](int64_t, int64_t, const float* own, const float* term) {
#pragma omp simd
                for (int64_t j = 0; j < block.count; ++j) end[j] = own[j] * end[j] + term[j];
              });
    }
  });
}

void ScanPieces(const float* a, const std::vector<int64_t>& a_sizes, const float* b, const std::vector<int64_t>& sizes,
                const float* carried, int axis, bool reverse, const PiecesOfRow& pieces, float* y) {
  ScanEachPiece</*is_before=*/false>(a, ScanLines(a_sizes, sizes, axis), b, carried, reverse, pieces, y);
}

void ScanPiecesBefore(const float* a, const std::vector<int64_t>& a_sizes, const float* b,
                      const std::vector<int64_t>& sizes, const float* carried, int axis, bool reverse,
                      const PiecesOfRow& pieces, float* y) {
  ScanEachPiece</*is_before=*/true>(a, ScanLines(a_sizes, sizes, axis), b, carried, reverse, pieces, y);
}

void JoinPieces(const float* x, const std::vector<int64_t>& sizes, int axis, const PiecesOfRow& pieces, int64_t first,
                float* y) {
  const ScanLines lines(sizes, sizes, axis);
  const int64_t row = LargestPieceOfLine(pieces);
#pragma omp parallel for if (lines.elements() >= kParallelElements)
  for (int64_t n = 0; n < lines.outer * lines.length; ++n) {
    const int64_t element = first + n % lines.length;
    const int64_t piece = PieceWith(pieces, element);
    const int64_t place = element - piece * pieces.elements / pieces.pieces;
    const int64_t from = (n / lines.length * pieces.count + piece - pieces.first) * row + place;
    std::copy_n(x + from * lines.inner, lines.inner, y + n * lines.inner);
  }
}

}  // namespace cleave::runtime
