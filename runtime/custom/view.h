// A tensor as the body of an op that a model defines sees it: the rank's piece, and where in the whole tensor it lies.
//
//   #include <cmath>
//
//   #include "runtime/custom/view.h"
//
//   inline void soft_cap(View<const float> x, float cap, View<float> y) {
//     for (int64_t i = 0; i < x.size(); ++i) y[i] = cap * std::tanh(x[i] / cap);
//   }
//
// Elements are row-major and contiguous. Any number of ranks calls the same body, each with its pieces: dimensions that
// one index of the op's rule names have the same size and the same place in all views of a call. A piece may have no
// elements; loops over `shape` then do nothing. What a body does not write of its result has no value.
//
// On a GPU `data` is a pointer of the device: the body launches kernels (runtime/device/cuda/cuda.h) and does not use
// `[]`.
#ifndef CLEAVE_RUNTIME_CUSTOM_VIEW_H_
#define CLEAVE_RUNTIME_CUSTOM_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// T is float or int32_t, const for what is read.
template <typename T>
struct View {
  View(T* elements, Region region)
      : data(elements), shape(std::move(region.size)), begin(std::move(region.begin)), whole(std::move(region.shape)) {}

  T* data;
  std::vector<int64_t> shape;  // Of the piece; empty for a scalar.
  std::vector<int64_t> begin;  // Per dimension the index of the piece's first element in the whole tensor.
  std::vector<int64_t> whole;  // The shape of the whole tensor.

  int64_t size() const { return ElementCount(shape); }
  int64_t dimension(int d) const { return shape[static_cast<size_t>(d)]; }
  T& operator[](int64_t element) const { return data[element]; }
};

}  // namespace cleave::runtime

// The headers of bodies, which include this one, name it without a namespace.
using cleave::runtime::View;

#endif  // CLEAVE_RUNTIME_CUSTOM_VIEW_H_
