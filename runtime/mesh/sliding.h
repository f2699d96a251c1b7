// A kernel that slides over a rank's piece of a dimension of images: shared by convolutions and poolings.
//
//   // Output rows 7 to 13 of 28, of a kernel of 3 padded by 1: they look at input rows 6 to 14.
//   const Sliding rows = {.input = {6, 9}, .output = {7, 7}, .kernel = 3, .padding = 1};
//
// Place i of the kernel looks with tap t at element i * stride - padding + t * dilation, all counted in the whole
// dimension. Where the dimension has no such element, before its beginning or behind its end, the kernel sees padding.
#ifndef CLEAVE_RUNTIME_MESH_SLIDING_H_
#define CLEAVE_RUNTIME_MESH_SLIDING_H_

#include <algorithm>
#include <cstdint>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

struct Sliding {
  Range input = {};   // The elements that the rank has.
  Range output = {};  // Its places of the kernel.
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;

  // The local element that the first place looks at with its first tap; negative in padding.
  int64_t first() const { return output.begin * stride - padding - input.begin; }
  // The end of what the last place looks at: one behind the local element of its last tap; it may lie in padding.
  // REQUIRES: there is a place.
  int64_t end() const { return first() + (output.size - 1) * stride + dilation * (kernel - 1) + 1; }

  // The local element that place `i` looks at with tap `tap`.
  int64_t At(int64_t i, int64_t tap) const { return first() + i * stride + tap * dilation; }

  // The local places at which `tap` looks at an element that the rank has.
  Range PlacesOf(int64_t tap) const {
    const int64_t at = At(0, tap);
    const int64_t begin = at >= 0 ? 0 : (-at + stride - 1) / stride;
    const int64_t end = at >= input.size ? 0 : std::min(output.size, (input.size - 1 - at) / stride + 1);
    return {begin, std::max<int64_t>(end - begin, 0)};
  }
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MESH_SLIDING_H_
