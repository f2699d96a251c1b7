// Convolutions by cuDNN where it is installed and has an algorithm, else by the runtime's own kernels.
//
// cuDNN has no products of 16 bits with a result of f32. They are made in TF32 from copies as f32: TF32 has all digits
// of bf16 and of f16, so nothing is rounded.
#include <cstdint>
#include <string>
#include <type_traits>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/memory.h"
#include "runtime/device/work.h"
#include "runtime/device/workspace.h"
#include "runtime/error/error.h"
#include "runtime/error/warning.h"
#include "runtime/math/convolution.h"
#include "runtime/math/cudnn/cudnn.cuh"
#include "runtime/math/cudnn/direct.cuh"

namespace cleave::runtime {
namespace {

template <typename Narrow>
__global__ void Widen(int64_t count, const Narrow* values, float* wide) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) wide[i] = values[i];
}

// A tensor of floats itself; of one of 16 bits a copy in f32, for one call.
class AsFloat {
 public:
  AsFloat(const float* values, int64_t) : values_(const_cast<float*>(values)) {}
  template <typename Narrow>
  AsFloat(const Narrow* values, int64_t count)
      : memory_(), values_(reinterpret_cast<float*>(memory_.AtLeast(count * static_cast<int64_t>(sizeof(float))))) {
    Launch(Widen<Narrow>, ForElements(count), count, values, values_);
  }

  float* values() const { return values_; }

 private:
  Scratch memory_{};
  float* values_;
};

template <typename T>
void FillZeros(T* values, int64_t count) {
  ZeroBytes(values, count * static_cast<int64_t>(sizeof(T)));
}

// Returns false: kernels of the program compute the convolution.
bool RefusedByLibrary(const ConvolutionShape& shape) {
  FallBack("convolutions", [&] {
    if (!CLEAVE_HAS_CUDNN) return std::string("this program was built without cuDNN, which computes no convolutions");
    const auto number = [](int64_t value) { return static_cast<long long>(value); };
    const ConvolutionSizes& sizes = shape.sizes;
    return Format("cuDNN does not compute a convolution of %lld x %lld x %lld x %lld and %lld x %lld x %lld x %lld",
                  number(sizes.samples), number(sizes.channels), number(shape.rows.input.size),
                  number(shape.columns.input.size), number(sizes.filters), number(sizes.filter_channels),
                  number(shape.rows.kernel), number(shape.columns.kernel));
  });
  return false;
}

// Some of cuDNN's functions ask for writable memory that they only read.
template <typename X, typename Filter, typename Y>
bool IsDoneByLibrary(Direction direction, const ConvolutionShape& shape, const X* x, const Filter* filter, const Y* y) {
  if (!CLEAVE_HAS_CUDNN) return false;
  if constexpr (!std::is_same_v<X, Filter> || !std::is_same_v<Filter, Y>) {
    const AsFloat wide_x(x, ElementsOfX(shape)), wide_filter(filter, ElementsOfFilter(shape));
    const AsFloat wide_y(y, ElementsOfY(shape));
    return ConvolveByLibrary(direction, shape, true, wide_x.values(), wide_filter.values(), wide_y.values());
  } else if constexpr (std::is_same_v<X, float>) {
    const bool exact_in_tf32 = false;
    return ConvolveByLibrary(direction, shape, exact_in_tf32, const_cast<X*>(x), const_cast<X*>(filter),
                             const_cast<X*>(y));
  } else {
    return ConvolveByLibrary(direction, shape, const_cast<X*>(x), const_cast<X*>(filter), const_cast<X*>(y));
  }
}

template <typename X, typename Filter, typename Y>
bool ByLibrary(Direction direction, const ConvolutionShape& shape, const X* x, const Filter* filter, const Y* y) {
  return IsDoneByLibrary(direction, shape, x, filter, y) || RefusedByLibrary(shape);
}

}  // namespace

template <typename In, typename Out>
void Conv2d(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* x, const In* filter,
            Out* y, const ImageBlocks&) {
  const ConvolutionShape shape = {sizes, rows, columns};
  CountFlops(FlopsOf(shape));
  if (!HasProducts(shape)) return FillZeros(y, ElementsOfY(shape));
  if (!ByLibrary(Direction::kForward, shape, x, filter, y)) DirectForward(shape, x, filter, y);
}

template <typename In, typename Out>
void Conv2dGradientInput(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* dy,
                         const In* filter, Out* dx, const ImageBlocks&) {
  const ConvolutionShape shape = {sizes, rows, columns};
  CountFlops(FlopsOf(shape));
  if (!HasProducts(shape)) return FillZeros(dx, ElementsOfX(shape));
  if (!ByLibrary(Direction::kGradientInput, shape, dx, filter, dy)) DirectGradientInput(shape, dy, filter, dx);
}

template <typename In, typename Out>
void Conv2dGradientFilter(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* dy,
                          const In* x, Out* dfilter, const ImageBlocks&) {
  const ConvolutionShape shape = {sizes, rows, columns};
  CountFlops(FlopsOf(shape));
  if (!HasProducts(shape)) return FillZeros(dfilter, ElementsOfFilter(shape));
  if (!ByLibrary(Direction::kGradientFilter, shape, x, dfilter, dy)) DirectGradientFilter(shape, dy, x, dfilter);
}

#define CLEAVE_CONVOLUTIONS(In, Out)                                                                                \
  template void Conv2d(const ConvolutionSizes&, const Sliding&, const Sliding&, const In*, const In*, Out*,         \
                       const ImageBlocks&);                                                                         \
  template void Conv2dGradientInput(const ConvolutionSizes&, const Sliding&, const Sliding&, const In*, const In*,  \
                                    Out*, const ImageBlocks&);                                                      \
  template void Conv2dGradientFilter(const ConvolutionSizes&, const Sliding&, const Sliding&, const In*, const In*, \
                                     Out*, const ImageBlocks&);
CLEAVE_CONVOLUTIONS(float, float)
CLEAVE_CONVOLUTIONS(BFloat16, float)
CLEAVE_CONVOLUTIONS(BFloat16, BFloat16)
CLEAVE_CONVOLUTIONS(Float16, float)
CLEAVE_CONVOLUTIONS(Float16, Float16)
#undef CLEAVE_CONVOLUTIONS

}  // namespace cleave::runtime
