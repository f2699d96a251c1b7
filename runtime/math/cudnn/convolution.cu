// Convolutions by cuDNN where it is installed and has a plan, else by the runtime's own kernels.
//
// Where images of a call lie with their channels last, the library is asked for all of it so: the filter, whose
// channels come before its places, and images that lie otherwise are copied. Products of 16 bits with a result of f32
// for which there is no plan are made in TF32 from copies as f32.
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/memory.h"
#include "runtime/device/work.h"
#include "runtime/device/workspace.h"
#include "runtime/error/error.h"
#include "runtime/error/warning.h"
#include "runtime/kernels/movement.h"
#include "runtime/math/convolution.h"
#include "runtime/math/cudnn/convolution_call.h"
#include "runtime/math/cudnn/direct.cuh"
#include "runtime/math/precision.h"

namespace cleave::runtime {
namespace {

template <typename T>
void FillZeros(T* values, int64_t count) {
  ZeroBytes(values, count * static_cast<int64_t>(sizeof(T)));
}

template <typename T>
ConvolutionType TypeOfFactors() {
  if (std::is_same_v<T, BFloat16>) return ConvolutionType::kBf16;
  if (std::is_same_v<T, Float16>) return ConvolutionType::kF16;
  return MatMulPrecision() == Precision::kTf32 ? ConvolutionType::kTf32 : ConvolutionType::kFloat;
}

// A tensor [outer, channels, places] in the order that the library is asked for: itself, or with its channels last a
// copy of one that lies otherwise.
template <typename T>
class Ordered {
 public:
  // `changes`: it lies otherwise.
  Ordered(T* values, bool changes, int64_t outer, int64_t channels, int64_t places)
      : values_(values), outer_(outer), channels_(channels), places_(places) {
    if (!changes || channels == 1 || places == 1) return;
    copy_ = reinterpret_cast<T*>(memory_.AtLeast(elements() * static_cast<int64_t>(sizeof(T))));
  }

  T* place() const { return copy_ == nullptr ? values_ : copy_; }
  int64_t elements() const { return outer_ * channels_ * places_; }
  // Before the library reads it, and after it has written it.
  void Read() const {
    if (copy_ != nullptr) Transpose(values_, {outer_, channels_, places_}, {0, 2, 1}, copy_);
  }
  void Write() const {
    if (copy_ != nullptr) Transpose(copy_, {outer_, places_, channels_}, {0, 2, 1}, values_);
  }

 private:
  T* values_;
  int64_t outer_;
  int64_t channels_;
  int64_t places_;
  Scratch memory_{};
  T* copy_ = nullptr;
};

// The largest power of two, at most 16, that divides all addresses.
int64_t AlignmentOf(const void* a, const void* b, const void* c) {
  constexpr uintptr_t kMost = 16;
  const uintptr_t bits =
      reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) | reinterpret_cast<uintptr_t>(c) | kMost;
  return static_cast<int64_t>(bits & (~bits + 1));
}

// Whether the library has computed the convolution; if not, `why` says why not. It asks for writable memory that it
// only reads.
template <typename X, typename Filter, typename Y>
bool IsComputed(Direction direction, ConvolutionType type, const ConvolutionShape& shape, X* x, Filter* filter, Y* y,
                std::string& why) {
  const ConvolutionSizes& sizes = shape.sizes;
  const bool gives_floats = std::is_same_v<X, float> || std::is_same_v<Filter, float> || std::is_same_v<Y, float>;
  ConvolutionCall call = {direction, type, gives_floats, false, 16, sizes, Along(shape.rows), Along(shape.columns)};
  // Sums of the gradient by a filter are made so alone.
  call.channels_last =
      shape.blocks.x > 0 || shape.blocks.y > 0 || (IsWidened(call) && direction == Direction::kGradientFilter);
  const bool last = call.channels_last;
  const Ordered<X> images(x, last && shape.blocks.x == 0, sizes.samples, sizes.channels,
                          shape.rows.input.size * shape.columns.input.size);
  const Ordered<Filter> weights(filter, last, sizes.filters, sizes.filter_channels,
                                call.rows.kernel * call.columns.kernel);
  const Ordered<Y> places(y, last && shape.blocks.y == 0, sizes.samples, sizes.filters,
                          call.rows.output * call.columns.output);
  const std::vector<int64_t> strides = BoxOf(call, kImages).strides;
  X* const first = images.place() + call.rows.first * strides[2] + call.columns.first * strides[3];
  call.alignment = AlignmentOf(first, weights.place(), places.place());
  if (!HasConvolutionPlan(call, why)) return false;
  if (direction != Direction::kGradientInput) {
    images.Read();
  } else if (!call.rows.SeesAll() || !call.columns.SeesAll()) {
    FillZeros(images.place(), images.elements());
  }
  if (direction != Direction::kGradientFilter) weights.Read();
  if (direction != Direction::kForward) places.Read();
  ConvolveByPlan(call, first, weights.place(), places.place());
  switch (direction) {
    case Direction::kForward:
      places.Write();
      break;
    case Direction::kGradientInput:
      images.Write();
      break;
    case Direction::kGradientFilter:
      weights.Write();
      break;
  }
  return true;
}

template <typename Narrow>
__global__ void Widen(int64_t count, const Narrow* values, float* wide) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) wide[i] = values[i];
}

// A tensor of floats itself; of one of 16 bits a copy in f32, for one call.
class AsFloats {
 public:
  AsFloats(float* values, int64_t) : values_(values) {}
  template <typename Narrow>
  AsFloats(const Narrow* values, int64_t count)
      : memory_(), values_(reinterpret_cast<float*>(memory_.AtLeast(count * static_cast<int64_t>(sizeof(float))))) {
    Launch(Widen<Narrow>, ForElements(count), count, values, values_);
  }

  float* values() const { return values_; }

 private:
  Scratch memory_{};
  float* values_;
};

template <typename In, typename X, typename Filter, typename Y>
bool ByLibrary(Direction direction, const ConvolutionShape& shape, X* x, Filter* filter, Y* y) {
  std::string why;
  if (IsComputed(direction, TypeOfFactors<In>(), shape, x, filter, y, why)) return true;
  if constexpr (!std::is_same_v<X, Filter> || !std::is_same_v<Filter, Y>) {
    // TF32 has all digits of bf16 and of f16, so nothing is rounded.
    std::string in_floats;
    const AsFloats wide_x(x, ElementsOfX(shape)), wide_filter(filter, ElementsOfFilter(shape));
    const AsFloats wide_y(y, ElementsOfY(shape));
    if (IsComputed(direction, ConvolutionType::kTf32, shape, wide_x.values(), wide_filter.values(), wide_y.values(),
                   in_floats))
      return true;
  }
  FallBack("convolutions", [&] {
    const ConvolutionSizes& sizes = shape.sizes;
    const auto number = [](int64_t value) { return static_cast<long long>(value); };
    return Format("cuDNN does not compute a convolution of %lld x %lld x %lld x %lld and %lld x %lld x %lld x %lld: %s",
                  number(sizes.samples), number(sizes.channels), number(shape.rows.input.size),
                  number(shape.columns.input.size), number(sizes.filters), number(sizes.filter_channels),
                  number(shape.rows.kernel), number(shape.columns.kernel), why.c_str());
  });
  return false;
}

template <typename T>
T* Writable(const T* values) {
  return const_cast<T*>(values);
}

}  // namespace

template <typename In, typename Out>
void Conv2d(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* x, const In* filter,
            Out* y, const ImageBlocks& blocks) {
  const ConvolutionShape shape = {sizes, rows, columns, blocks};
  CountFlops(FlopsOf(shape));
  if (!HasProducts(shape)) return FillZeros(y, ElementsOfY(shape));
  if (ByLibrary<In>(Direction::kForward, shape, Writable(x), Writable(filter), y)) return;
  DirectForward(shape, x, filter, y);
}

template <typename In, typename Out>
void Conv2dGradientInput(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* dy,
                         const In* filter, Out* dx, const ImageBlocks& blocks) {
  const ConvolutionShape shape = {sizes, rows, columns, blocks};
  CountFlops(FlopsOf(shape));
  if (!HasProducts(shape)) return FillZeros(dx, ElementsOfX(shape));
  if (ByLibrary<In>(Direction::kGradientInput, shape, dx, Writable(filter), Writable(dy))) return;
  DirectGradientInput(shape, dy, filter, dx);
}

template <typename In, typename Out>
void Conv2dGradientFilter(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* dy,
                          const In* x, Out* dfilter, const ImageBlocks& blocks) {
  const ConvolutionShape shape = {sizes, rows, columns, blocks};
  CountFlops(FlopsOf(shape));
  if (!HasProducts(shape)) return FillZeros(dfilter, ElementsOfFilter(shape));
  if (ByLibrary<In>(Direction::kGradientFilter, shape, Writable(x), dfilter, Writable(dy))) return;
  DirectGradientFilter(shape, dy, x, dfilter);
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
