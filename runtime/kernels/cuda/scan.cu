// Neighbouring threads go along neighbouring lines. Where there are too few lines to keep the device busy, each is cut
// into chunks: a thread finds what its chunk does to a state, then the states that come into all chunks follow from a
// scan of these, and each thread goes along its chunk again from there. How many chunks there are depends on the shape
// only, so the same numbers give the same bits on every device.
#include <algorithm>
#include <vector>

#include "runtime/device/cuda/cuda.h"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/scan.h"
#include "runtime/kernels/scan_lines.h"

namespace cleave::runtime {
namespace {

// What a thread computes at each element of its chunk, with the state s.
enum class Form {
  kState,   // s = a s + b, which is the result.
  kBefore,  // The result is s, times g where there is one; then s = a s + b.
  kTerm,    // The result is b + s; then s is a times the result.
};

// Where the result of an element lies: in a tensor of the lines, or in rows of the pieces.
struct Target {
  Reals y;
  int64_t row = 0;  // Elements of a row; 0: there are none.
};

// Calls step(place, a, b) for the elements of a chunk, in the order of the scan.
template <typename Step>
__device__ void GoAlong(ConstReals a, ConstReals b, const ScanLines& lines, int64_t line, const ScanPiece& piece,
                        bool reverse, Step step) {
  const int64_t factor = lines.FactorOf(line);
  for (int64_t i = piece.begin; i < piece.end; ++i) {
    const int64_t place = reverse ? piece.begin + piece.end - 1 - i : i;
    const int64_t at = lines.At(line, place);
    step(place, at, a[factor + place * lines.along], b[at]);
  }
}

template <Form kForm>
__global__ void ScanThrough(ConstReals a, ConstReals b, ConstReals g, bool has_g, ScanLines lines, PiecesOfRow pieces,
                            bool reverse, const float* carried, Target target) {
  for (int64_t n = FirstElement(); n < lines.lines() * pieces.count; n += ElementStride()) {
    const int64_t line = n % lines.lines(), chunk = n / lines.lines();
    const int64_t outer = line / lines.inner, inner = line % lines.inner;
    const ScanPiece piece = PieceOfLine(pieces, chunk);
    const int64_t before = PieceBefore(pieces, chunk, reverse);
    float state =
        carried == nullptr || before < 0 ? 0.0f : carried[(outer * pieces.pieces + before) * lines.inner + inner];
    const int64_t first = (outer * pieces.count + chunk) * target.row * lines.inner + inner;
    GoAlong(a, b, lines, line, piece, reverse, [&](int64_t place, int64_t at, float own, float term) {
      float result = state;
      if (kForm == Form::kTerm) {
        result = term + state;
        state = own * result;
      } else {
        state = own * state + term;
        if (kForm == Form::kState) result = state;
        if (kForm == Form::kBefore && has_g) result *= g[at];
      }
      target.y.Set(target.row == 0 ? at : first + (place - piece.begin) * lines.inner, result);
    });
    for (int64_t i = piece.end - piece.begin; i < target.row; ++i) target.y.Set(first + i * lines.inner, 0.0f);
  }
}

// The product of a over each chunk and the state that it leaves of zeros; what is null is not wanted.
template <Form kForm>
__global__ void FindEnds(ConstReals a, ConstReals b, ScanLines lines, PiecesOfRow pieces, bool reverse, float* products,
                         float* ends) {
  for (int64_t n = FirstElement(); n < lines.lines() * pieces.count; n += ElementStride()) {
    const int64_t line = n % lines.lines(), chunk = n / lines.lines();
    float product = 1.0f, state = 0.0f;
    GoAlong(a, b, lines, line, PieceOfLine(pieces, chunk), reverse, [&](int64_t, int64_t, float own, float term) {
      product *= own;
      state = kForm == Form::kTerm ? own * (term + state) : own * state + term;
    });
    const int64_t at = (line / lines.inner * pieces.count + chunk) * lines.inner + line % lines.inner;
    if (products != nullptr) products[at] = product;
    if (ends != nullptr) ends[at] = state;
  }
}

__global__ void JoinRows(const float* x, ScanLines lines, PiecesOfRow pieces, int64_t row, int64_t first, float* y) {
  const int64_t count = lines.lines() * lines.length;
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const int64_t inner = i % lines.inner, n = i / lines.inner;
    const int64_t element = first + n % lines.length;
    const int64_t piece = PieceWith(pieces, element);
    const int64_t place = element - piece * pieces.elements / pieces.pieces;
    const int64_t from = (n / lines.length * pieces.count + piece - pieces.first) * row + place;
    y[i] = x[from * lines.inner + inner];
  }
}

int64_t ChunksOf(const ScanLines& lines) {
  constexpr int64_t kThreads = int64_t{1} << 17;
  constexpr int64_t kLeastElements = 32;
  return std::max<int64_t>(1, std::min(kThreads / lines.lines(), lines.length / kLeastElements));
}

template <Form kForm>
void LaunchScan(ConstReals a, ConstReals b, ConstReals g, bool has_g, const ScanLines& lines, bool reverse, Reals y) {
  if (lines.elements() == 0) return;
  const int64_t chunks = ChunksOf(lines);
  const PiecesOfRow pieces = {lines.length, chunks, 0, chunks};
  const LaunchShape shape = ForElements(lines.lines() * chunks);
  if (chunks == 1) {
    Launch(ScanThrough<kForm>, shape, a, b, g, has_g, lines, pieces, reverse, nullptr, Target{y});
    return;
  }
  ScratchLayout layout;
  const int64_t of_products = layout.Add<float>(lines.lines() * chunks);
  const int64_t of_ends = layout.Add<float>(lines.lines() * chunks);
  const ScratchMemory scratch(layout);
  float* const products = scratch.At<float>(of_products);
  float* const ends = scratch.At<float>(of_ends);
  Launch(FindEnds<kForm>, shape, a, b, lines, pieces, reverse, products, ends);
  // Each thread reads an element of `ends` before it writes there.
  Launch(ScanThrough<Form::kState>, ForElements(lines.lines()), products, ends, ends, false,
         ScanLines(lines.outer, chunks, lines.inner), PiecesOfRow{chunks, 1, 0, 1}, reverse, nullptr, Target{ends});
  Launch(ScanThrough<kForm>, shape, a, b, g, has_g, lines, pieces, reverse, ends, Target{y});
}

template <Form kForm>
void LaunchPieces(const float* a, const ScanLines& lines, const float* b, const float* carried, bool reverse,
                  const PiecesOfRow& pieces, float* y) {
  Launch(ScanThrough<kForm>, ForElements(lines.lines() * pieces.count), a, b, b, false, lines, pieces, reverse, carried,
         Target{y, LargestPieceOfLine(pieces)});
}

}  // namespace

void Scan(ConstReals a, const std::vector<int64_t>& a_sizes, ConstReals b, const std::vector<int64_t>& sizes, int axis,
          bool reverse, Reals h) {
  LaunchScan<Form::kState>(a, b, b, false, ScanLines(a_sizes, sizes, axis), reverse, h);
}

void ScanGradientA(ConstReals a, const std::vector<int64_t>& a_sizes, ConstReals b, const std::vector<int64_t>& sizes,
                   ConstReals g, int axis, bool reverse, Reals da) {
  LaunchScan<Form::kBefore>(a, b, g, true, ScanLines(a_sizes, sizes, axis), reverse, da);
}

void ScanGradientB(ConstReals a, const std::vector<int64_t>& a_sizes, ConstReals dy, const std::vector<int64_t>& sizes,
                   int axis, bool reverse, Reals db) {
  LaunchScan<Form::kTerm>(a, dy, dy, false, ScanLines(a_sizes, sizes, axis), reverse, db);
}

void ScanProducts(const float* a, const std::vector<int64_t>& a_sizes, int axis, const PiecesOfRow& pieces,
                  float* products) {
  const ScanLines lines(a_sizes, a_sizes, axis);
  Launch(FindEnds<Form::kState>, ForElements(lines.lines() * pieces.count), a, a, lines, pieces, false, products,
         nullptr);
}

void ScanEnds(const float* a, const std::vector<int64_t>& a_sizes, const float* b, const std::vector<int64_t>& sizes,
              int axis, bool reverse, const PiecesOfRow& pieces, float* ends) {
  const ScanLines lines(a_sizes, sizes, axis);
  Launch(FindEnds<Form::kState>, ForElements(lines.lines() * pieces.count), a, b, lines, pieces, reverse, nullptr,
         ends);
}

void ScanPieces(const float* a, const std::vector<int64_t>& a_sizes, const float* b, const std::vector<int64_t>& sizes,
                const float* carried, int axis, bool reverse, const PiecesOfRow& pieces, float* y) {
  LaunchPieces<Form::kState>(a, ScanLines(a_sizes, sizes, axis), b, carried, reverse, pieces, y);
}

void ScanPiecesBefore(const float* a, const std::vector<int64_t>& a_sizes, const float* b,
                      const std::vector<int64_t>& sizes, const float* carried, int axis, bool reverse,
                      const PiecesOfRow& pieces, float* y) {
  LaunchPieces<Form::kBefore>(a, ScanLines(a_sizes, sizes, axis), b, carried, reverse, pieces, y);
}

void JoinPieces(const float* x, const std::vector<int64_t>& sizes, int axis, const PiecesOfRow& pieces, int64_t first,
                float* y) {
  const ScanLines lines(sizes, sizes, axis);
  Launch(JoinRows, ForElements(lines.elements()), x, lines, pieces, LargestPieceOfLine(pieces), first, y);
}

}  // namespace cleave::runtime
