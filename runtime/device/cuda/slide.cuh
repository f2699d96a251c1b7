// A sliding kernel (runtime/mesh/sliding.h) as the device sees it: what poolings and convolutions share.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_SLIDE_CUH_
#define CLEAVE_RUNTIME_DEVICE_CUDA_SLIDE_CUH_

#include <cstdint>

#include "runtime/device/cuda/cuda.h"
#include "runtime/mesh/sliding.h"

namespace cleave::runtime {

// One dimension of a rank's piece.
struct Slide {
  int64_t input;
  int64_t output;
  int64_t kernel;
  int64_t stride;
  int64_t dilation;
  int64_t first;

  explicit Slide(const Sliding& sliding)
      : input(sliding.input.size),
        output(sliding.output.size),
        kernel(sliding.kernel),
        stride(sliding.stride),
        dilation(sliding.dilation),
        first(sliding.first()) {}

  // The element that place `i` looks at with a tap; none where it is not in [0, input).
  __device__ int64_t At(int64_t i, int64_t tap = 0) const { return first + i * stride + tap * dilation; }
  __device__ bool Has(int64_t element) const { return element >= 0 && element < input; }

  // The place that looks at the element with the tap, or -1.
  __device__ int64_t PlaceOf(int64_t element, int64_t tap) const {
    const int64_t distance = element - first - tap * dilation;
    if (distance < 0 || distance % stride != 0 || distance / stride >= output) return -1;
    return distance / stride;
  }

  // The functions that follow are for kernels whose taps are neighbours. REQUIRES: dilation is 1.

  // The taps of place `i` that see an element: [TapsBegin, TapsEnd).
  __device__ int64_t TapsBegin(int64_t i) const { return At(i) < 0 ? -At(i) : 0; }
  __device__ int64_t TapsEnd(int64_t i) const { return kernel < input - At(i) ? kernel : input - At(i); }

  // The places that see element `e`: [PlacesBegin, PlacesEnd); place i sees it with tap e - At(i).
  __device__ int64_t PlacesBegin(int64_t e) const {
    const int64_t behind = e - first - kernel;  // The first place begins behind this.
    return behind < 0 ? 0 : behind / stride + 1;
  }
  __device__ int64_t PlacesEnd(int64_t e) const {
    const int64_t last = e - first < 0 ? 0 : (e - first) / stride + 1;
    return last < output ? last : output;
  }
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CUDA_SLIDE_CUH_
