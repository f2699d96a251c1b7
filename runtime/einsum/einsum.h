// Sums of products over named indexes, on local tensors.
//
//   // z[b, j, i] = sum over k of x[i, b, k] * y[k, j, b]
//   Einsum("i b k, k j b -> b j i", {{x, {6, 4, 7}}, {y, {7, 5, 4}}}, z);
//
// Names are separated by spaces, terms by commas. An index that is not in the result is summed over; one that stands
// twice in a term means the diagonal, in the result with zeros beside it. A rank may hold a piece of such an index: in
// every term the first place of it is that piece, and further places are whole. All tensors are row-major and
// contiguous; the result does not overlap the inputs. Sizes may be 0. Products of two matrices may be of 16 bits, as
// MatMul has them (runtime/math/math.h); all else is f32.
#ifndef CLEAVE_RUNTIME_EINSUM_EINSUM_H_
#define CLEAVE_RUNTIME_EINSUM_EINSUM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device/reals.h"

namespace cleave::runtime {

struct EinsumInput {
  ConstReals values;
  std::vector<int64_t> shape;
};

// An index that stands twice in a term.
struct Diagonal {
  int64_t first = 0;  // Of the piece, in the whole index.
  int64_t size = 0;   // Of the whole index.
};

// `diagonals`: of all these indexes, in the order in which they first stand in the formula.
void Einsum(const std::string& formula, const std::vector<EinsumInput>& inputs, Reals result,
            const std::vector<Diagonal>& diagonals = {});

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_EINSUM_EINSUM_H_
