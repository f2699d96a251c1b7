// Functions along one dimension of a row-major tensor: running sums, runs, rotary positions. Sizes may be 0; results
// must not overlap inputs, but that y of Rope may lie over x of the same type.
#ifndef CLEAVE_RUNTIME_KERNELS_SEQUENCES_H_
#define CLEAVE_RUNTIME_KERNELS_SEQUENCES_H_

#include <cstdint>
#include <vector>

#include "runtime/device/reals.h"
#include "runtime/kernels/zigzag.h"

namespace cleave::runtime {

// y = x plus all elements before it along `axis`; ReverseCumsum adds those after it.
void Cumsum(const float* x, const std::vector<int64_t>& shape, int axis, float* y);
void ReverseCumsum(const float* x, const std::vector<int64_t>& shape, int axis, float* y);

// y = the place where the run of equal neighbours to which each element of a row belongs begins, or that behind its
// end. x and y [rows, length].
void RunBegins(const int32_t* x, int64_t rows, int64_t length, int32_t* y);
void RunEnds(const int32_t* x, int64_t rows, int64_t length, int32_t* y);

struct Rotation {
  int axis = 0;                        // The dimension of the positions; not the last.
  int64_t first_position = 0;          // The position of the local tensor's first element along it.
  Zigzag zigzag;                       // With pairs, the positions of its elements along it.
  const int32_t* positions = nullptr;  // Those of all its elements along it, where they do not follow each other.
  double theta = 10000.0;
  bool inverse = false;
  int64_t batch = 1;  // The elements of the first dimensions, each of which has positions of its own: [batch, length].
};

// Elements i and i + head/2 of the last dimension, a point of the plane, turned by position * theta^(-2i / head). Su et
// al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021. REQUIRES: the last dimension is even.
void Rope(ConstReals x, const std::vector<int64_t>& shape, const Rotation& rotation, Reals y);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_SEQUENCES_H_
