// Which elements of a dimension a rank holds or needs, in closed form.
//
//   PieceOf(10, 4, 3)                    == {.begin = 7, .size = 3}
//   Window conv{.elements = 28, .outer = 28, .first = -1, .last = 1};     // A 3-wide convolution, padded by 1.
//   conv.Of(PieceOf(28, 4, 1))           == {.begin = 6, .size = 9}       // Rows 7 to 13, and one more on each side.
//
// One convention everywhere: a dimension of d elements cut N ways gives piece i the elements from floor(i*d/N) up to
// floor((i+1)*d/N). Pieces may be empty; the pieces of inner axes together are exactly the piece of the outer ones.
#ifndef CLEAVE_IR_TENSOR_PIECE_PIECE_H_
#define CLEAVE_IR_TENSOR_PIECE_PIECE_H_

#include <cstdint>

namespace cleave::ir {

// Elements [begin, begin + size) of a dimension.
struct Piece {
  int64_t begin = 0;
  int64_t size = 0;

  int64_t end() const { return begin + size; }
  bool Contains(const Piece& other) const { return other.size == 0 || (begin <= other.begin && other.end() <= end()); }

  bool operator==(const Piece&) const = default;
};

// Piece `index` of `elements` cut `count` ways. REQUIRES: 0 <= index < count.
Piece PieceOf(int64_t elements, int64_t count, int64_t index);

// ceil(elements / count): the size of the largest piece.
int64_t LargestPiece(int64_t elements, int64_t count);

// The elements that both have; {0, 0} if there are none.
Piece Intersection(const Piece& a, const Piece& b);

// A dimension that is read in windows. Whoever works on elements [b, e) of an outer dimension (a convolution's output
// rows) reads elements floor((b * numerator + first) / denominator) up to and including floor(((e - 1) * numerator +
// last) / denominator) of this one, as far as they exist:
//   convolution, stride s, padding p, window w, dilation d:  numerator s, first -p, last d*(w-1) - p
//   its gradient by the input:                               denominator s, first p - d*(w-1) + s - 1, last p
//   slice from element k:                                    first k, last k
//   place at element k (pad, concat):                        first -k, last -k
struct Window {
  int64_t elements = 1;  // Of the dimension that is read.
  int64_t outer = 1;     // Elements of the outer dimension; the pieces are pieces of this.
  int64_t numerator = 1;
  int64_t denominator = 1;
  int64_t first = 0;
  int64_t last = 0;

  // What the owner of `piece` of the outer dimension reads: nothing for an empty piece.
  Piece Of(const Piece& piece) const;

  bool operator==(const Window&) const = default;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TENSOR_PIECE_PIECE_H_
