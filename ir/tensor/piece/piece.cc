#include "ir/tensor/piece/piece.h"

#include <algorithm>

#include "base/check/check.h"

namespace cleave::ir {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

}  // namespace

Piece PieceOf(int64_t elements, int64_t count, int64_t index) {
  CLEAVE_CHECK(index >= 0 && index < count) << "piece " << index << " of " << count;
  // 128 bits: elements up to 2^63 times up to 2^20 pieces.
  const auto bound = [&](int64_t i) { return static_cast<int64_t>(static_cast<__int128>(elements) * i / count); };
  const int64_t begin = bound(index);
  return {.begin = begin, .size = bound(index + 1) - begin};
}

int64_t LargestPiece(int64_t elements, int64_t count) { return elements / count + (elements % count != 0 ? 1 : 0); }

Piece Intersection(const Piece& a, const Piece& b) {
  const int64_t begin = std::max(a.begin, b.begin);
  const int64_t end = std::min(a.end(), b.end());
  return begin < end ? Piece{.begin = begin, .size = end - begin} : Piece{};
}

Piece Window::Of(const Piece& piece) const {
  if (piece.size == 0) return {};
  const int64_t begin = FloorDivide(piece.begin * numerator + first, denominator);
  const int64_t end = FloorDivide((piece.end() - 1) * numerator + last, denominator) + 1;
  return Intersection({.begin = begin, .size = std::max<int64_t>(end - begin, 0)}, {.begin = 0, .size = elements});
}

}  // namespace cleave::ir
