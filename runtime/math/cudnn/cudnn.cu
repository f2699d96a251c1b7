// Convolutions by cuDNN, of images that lie as everywhere in the runtime.
//
// The algorithms are those that add up products as they are, without transforms that lose digits, and in one order:
// results are the same in every run. The library knows one padding for both sides of a dimension, and counts the places
// from sizes; where a rank's piece of the images does not fit this, the library gets a copy in which the padding is
// written out.
#include "runtime/math/cudnn/cudnn.cuh"

#if CLEAVE_HAS_CUDNN

#include <cudnn.h>

#include <climits>
#include <string>
#include <type_traits>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/workspace.h"
#include "runtime/error/error.h"
#include "runtime/math/precision.h"
#include "runtime/math/prepared_list.h"

namespace cleave::runtime {
namespace {

// What the library is told about one dimension.
struct Along {
  int64_t input = 1;
  int64_t output = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t padding = 0;

  // The whole of the rank's piece.
  explicit Along(const Sliding& sliding)
      : input(sliding.input.size),
        output(sliding.output.size),
        kernel(sliding.kernel),
        stride(sliding.stride),
        dilation(sliding.dilation),
        padding(-sliding.first()) {}

  // Whether the library counts as many places.
  bool Fits() const {
    const int64_t span = dilation * (kernel - 1) + 1;
    const int64_t room = input + 2 * padding - span;
    return padding >= 0 && room >= 0 && room / stride + 1 == output;
  }

  // The elements that the kernel looks at, and no others.
  static Along WithPaddingWrittenOut(const Sliding& sliding) {
    Along along(sliding);
    along.input = sliding.end() - sliding.first();
    along.padding = 0;
    return along;
  }

  bool operator==(const Along& other) const {
    return input == other.input && output == other.output && kernel == other.kernel && stride == other.stride &&
           dilation == other.dilation && padding == other.padding;
  }
};

// All that the choice of an algorithm depends on.
struct Convolution {
  Direction direction;
  cudnnDataType_t type;
  cudnnMathType_t math;
  ConvolutionSizes sizes;
  Along rows;
  Along columns;

  bool operator==(const Convolution& other) const {
    return direction == other.direction && type == other.type && math == other.math &&
           sizes.samples == other.sizes.samples && sizes.channels == other.sizes.channels &&
           sizes.filters == other.sizes.filters && sizes.filter_channels == other.sizes.filter_channels &&
           rows == other.rows && columns == other.columns;
  }

  std::string Text() const {
    const auto number = [](int64_t value) { return static_cast<long long>(value); };
    return Format("a convolution of %lld x %lld x %lld x %lld and %lld x %lld x %lld x %lld", number(sizes.samples),
                  number(sizes.channels), number(rows.input), number(columns.input), number(sizes.filters),
                  number(sizes.filter_channels), number(rows.kernel), number(columns.kernel));
  }
};

struct PreparedConvolution {
  Convolution convolution;
  cudnnTensorDescriptor_t x = nullptr;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t operation = nullptr;
  cudnnTensorDescriptor_t y = nullptr;
  cudnnConvolutionFwdAlgo_t forward = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  bool is_supported = false;
  size_t workspace_bytes = 0;
};

// The library counts elements in 32 bits.
bool IsSmallEnough(const Convolution& convolution) {
  const ConvolutionSizes& sizes = convolution.sizes;
  const int64_t x = sizes.samples * sizes.channels * convolution.rows.input * convolution.columns.input;
  const int64_t filter = sizes.filters * sizes.filter_channels * convolution.rows.kernel * convolution.columns.kernel;
  const int64_t y = sizes.samples * sizes.filters * convolution.rows.output * convolution.columns.output;
  return x <= INT_MAX && filter <= INT_MAX && y <= INT_MAX;
}

cudnnTensorDescriptor_t DescribeImages(const Convolution& convolution, int64_t channels, int64_t rows,
                                       int64_t columns) {
  cudnnTensorDescriptor_t images;
  CheckCudnn(cudnnCreateTensorDescriptor(&images), convolution.Text());
  CheckCudnn(cudnnSetTensor4dDescriptor(images, CUDNN_TENSOR_NCHW, convolution.type,
                                        static_cast<int>(convolution.sizes.samples), static_cast<int>(channels),
                                        static_cast<int>(rows), static_cast<int>(columns)),
             convolution.Text());
  return images;
}

void Describe(PreparedConvolution& prepared) {
  const Convolution& convolution = prepared.convolution;
  const ConvolutionSizes& sizes = convolution.sizes;
  const Along& rows = convolution.rows;
  const Along& columns = convolution.columns;
  const auto check = [&](cudnnStatus_t status) { CheckCudnn(status, convolution.Text()); };
  const auto number = [](int64_t value) { return static_cast<int>(value); };
  prepared.x = DescribeImages(convolution, sizes.channels, rows.input, columns.input);
  prepared.y = DescribeImages(convolution, sizes.filters, rows.output, columns.output);
  check(cudnnCreateFilterDescriptor(&prepared.filter));
  check(cudnnSetFilter4dDescriptor(prepared.filter, convolution.type, CUDNN_TENSOR_NCHW, number(sizes.filters),
                                   number(sizes.filter_channels), number(rows.kernel), number(columns.kernel)));
  check(cudnnCreateConvolutionDescriptor(&prepared.operation));
  check(cudnnSetConvolution2dDescriptor(prepared.operation, number(rows.padding), number(columns.padding),
                                        number(rows.stride), number(columns.stride), number(rows.dilation),
                                        number(columns.dilation), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  check(cudnnSetConvolutionGroupCount(prepared.operation, number(sizes.channels / sizes.filter_channels)));
  check(cudnnSetConvolutionMathType(prepared.operation, convolution.math));
}

// Algorithms that add up the products as they are, in one order.
constexpr cudnnConvolutionBwdDataAlgo_t kGradientInputAlgorithm = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
constexpr cudnnConvolutionBwdFilterAlgo_t kGradientFilterAlgorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;

cudnnStatus_t AskForWorkspace(PreparedConvolution& p) {
  size_t* const bytes = &p.workspace_bytes;
  switch (p.convolution.direction) {
    case Direction::kForward:
      return cudnnGetConvolutionForwardWorkspaceSize(CudnnHandle(), p.x, p.filter, p.operation, p.y, p.forward, bytes);
    case Direction::kGradientInput:
      return cudnnGetConvolutionBackwardDataWorkspaceSize(CudnnHandle(), p.filter, p.y, p.operation, p.x,
                                                          kGradientInputAlgorithm, bytes);
    case Direction::kGradientFilter:
      return cudnnGetConvolutionBackwardFilterWorkspaceSize(CudnnHandle(), p.x, p.y, p.operation, p.filter,
                                                            kGradientFilterAlgorithm, bytes);
  }
  return CUDNN_STATUS_NOT_SUPPORTED;
}

PreparedConvolution Prepare(const Convolution& convolution) {
  PreparedConvolution prepared = {convolution};
  if (!IsSmallEnough(convolution)) return prepared;
  Describe(prepared);
  prepared.is_supported = AskForWorkspace(prepared) == CUDNN_STATUS_SUCCESS;
  if (!prepared.is_supported && convolution.direction == Direction::kForward) {
    prepared.forward = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;  // It needs no workspace, and has fewer conditions.
    prepared.is_supported = AskForWorkspace(prepared) == CUDNN_STATUS_SUCCESS;
  }
  return prepared;
}

cudnnStatus_t Execute(const PreparedConvolution& p, void* x, void* filter, void* y, void* workspace) {
  const float one = 1.0f;
  const float zero = 0.0f;
  switch (p.convolution.direction) {
    case Direction::kForward:
      return cudnnConvolutionForward(CudnnHandle(), &one, p.x, x, p.filter, filter, p.operation, p.forward, workspace,
                                     p.workspace_bytes, &zero, p.y, y);
    case Direction::kGradientInput:
      return cudnnConvolutionBackwardData(CudnnHandle(), &one, p.filter, filter, p.y, y, p.operation,
                                          kGradientInputAlgorithm, workspace, p.workspace_bytes, &zero, p.x, x);
    case Direction::kGradientFilter:
      return cudnnConvolutionBackwardFilter(CudnnHandle(), &one, p.x, x, p.y, y, p.operation, kGradientFilterAlgorithm,
                                            workspace, p.workspace_bytes, &zero, p.filter, filter);
  }
  return CUDNN_STATUS_NOT_SUPPORTED;
}

// A power of two, so that the calls of a step share few pieces of memory.
int64_t RoundedWorkspace(size_t bytes) {
  int64_t rounded = int64_t{1} << 20;
  while (rounded < static_cast<int64_t>(bytes)) rounded *= 2;
  return rounded;
}

// The part of a dimension that a rank has, and the same with the padding written out.
struct Cut {
  int64_t has;
  int64_t seen;
  int64_t first;  // Of the elements that the kernel sees, the place of the first one in what the rank has.

  explicit Cut(const Sliding& sliding)
      : has(sliding.input.size), seen(sliding.end() - sliding.first()), first(sliding.first()) {}
};

template <typename T>
__global__ void WriteOutPadding(int64_t planes, Cut rows, Cut columns, const T* x, T* seen) {
  const int64_t count = planes * rows.seen * columns.seen;
  for (int64_t at = FirstElement(); at < count; at += ElementStride()) {
    const int64_t column = at % columns.seen + columns.first;
    const int64_t row = at / columns.seen % rows.seen + rows.first;
    const int64_t plane = at / columns.seen / rows.seen;
    const bool exists = row >= 0 && row < rows.has && column >= 0 && column < columns.has;
    seen[at] = exists ? x[(plane * rows.has + row) * columns.has + column] : static_cast<T>(0.0f);
  }
}

template <typename T>
__global__ void LeaveOutPadding(int64_t planes, Cut rows, Cut columns, const T* seen, T* x) {
  const int64_t count = planes * rows.has * columns.has;
  for (int64_t at = FirstElement(); at < count; at += ElementStride()) {
    const int64_t column = at % columns.has - columns.first;
    const int64_t row = at / columns.has % rows.has - rows.first;
    const int64_t plane = at / columns.has / rows.has;
    const bool is_seen = row >= 0 && row < rows.seen && column >= 0 && column < columns.seen;
    x[at] = is_seen ? seen[(plane * rows.seen + row) * columns.seen + column] : static_cast<T>(0.0f);
  }
}

bool IsNotSupported(cudnnStatus_t status) {
  // From version 9 on there are several kinds of it, 3000 to 3999.
  return status == CUDNN_STATUS_NOT_SUPPORTED || static_cast<int>(status) / 1000 == 3;
}

// `convolution` with images as the library wants them.
bool Run(const Convolution& convolution, void* x, void* filter, void* y) {
  thread_local auto& all = *new PreparedList<PreparedConvolution>;
  const PreparedConvolution& prepared =
      all.Get([&](const PreparedConvolution& known) { return known.convolution == convolution; },
              [&] { return Prepare(convolution); });
  if (!prepared.is_supported) return false;
  Scratch workspace;
  void* const memory =
      prepared.workspace_bytes == 0 ? nullptr : workspace.AtLeast(RoundedWorkspace(prepared.workspace_bytes));
  const cudnnStatus_t status = Execute(prepared, x, filter, y, memory);
  if (IsNotSupported(status)) return false;  // Some algorithms refuse only now what they have accepted.
  if (status != CUDNN_STATUS_SUCCESS) CheckCudnn(status, convolution.Text());
  return true;
}

template <typename T>
constexpr cudnnDataType_t kCudnnType = CUDNN_DATA_FLOAT;
template <>
constexpr cudnnDataType_t kCudnnType<BFloat16> = CUDNN_DATA_BFLOAT16;
template <>
constexpr cudnnDataType_t kCudnnType<Float16> = CUDNN_DATA_HALF;

template <typename T>
bool Convolve(Direction direction, const ConvolutionShape& shape, cudnnMathType_t math, T* x, T* filter, T* y) {
  Convolution convolution = {direction, kCudnnType<T>, math, shape.sizes, Along(shape.rows), Along(shape.columns)};
  if (convolution.rows.Fits() && convolution.columns.Fits()) return Run(convolution, x, filter, y);
  convolution.rows = Along::WithPaddingWrittenOut(shape.rows);
  convolution.columns = Along::WithPaddingWrittenOut(shape.columns);
  const int64_t planes = shape.sizes.samples * shape.sizes.channels;
  const int64_t count = planes * convolution.rows.input * convolution.columns.input;
  Scratch copy;
  T* const seen = reinterpret_cast<T*>(copy.AtLeast(count * static_cast<int64_t>(sizeof(T))));
  const Cut rows(shape.rows), columns(shape.columns);
  const bool makes_x = direction == Direction::kGradientInput;
  if (!makes_x) Launch(WriteOutPadding<T>, ForElements(count), planes, rows, columns, x, seen);
  if (!Run(convolution, seen, filter, y)) return false;
  if (makes_x) Launch(LeaveOutPadding<T>, ForElements(ElementsOfX(shape)), planes, rows, columns, seen, x);
  return true;
}

}  // namespace

bool ConvolveByLibrary(Direction direction, const ConvolutionShape& shape, bool exact_in_tf32, float* x, float* filter,
                       float* y) {
  const bool tf32 = exact_in_tf32 || MatMulPrecision() == Precision::kTf32;
  // By default the library uses TF32 where a device has it.
  return Convolve(direction, shape, tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH, x, filter, y);
}

bool ConvolveByLibrary(Direction direction, const ConvolutionShape& shape, BFloat16* x, BFloat16* filter, BFloat16* y) {
  return Convolve(direction, shape, CUDNN_TENSOR_OP_MATH, x, filter, y);
}
bool ConvolveByLibrary(Direction direction, const ConvolutionShape& shape, Float16* x, Float16* filter, Float16* y) {
  return Convolve(direction, shape, CUDNN_TENSOR_OP_MATH, x, filter, y);
}

}  // namespace cleave::runtime

#else

namespace cleave::runtime {

bool ConvolveByLibrary(Direction, const ConvolutionShape&, bool, float*, float*, float*) { return false; }
bool ConvolveByLibrary(Direction, const ConvolutionShape&, BFloat16*, BFloat16*, BFloat16*) { return false; }
bool ConvolveByLibrary(Direction, const ConvolutionShape&, Float16*, Float16*, Float16*) { return false; }

}  // namespace cleave::runtime

#endif  // CLEAVE_HAS_CUDNN
