// A convolution, or one of its gradients, as cuDNN is asked for it. Inside of runtime/math/cudnn only.
#ifndef CLEAVE_RUNTIME_MATH_CUDNN_CONVOLUTION_CALL_H_
#define CLEAVE_RUNTIME_MATH_CUDNN_CONVOLUTION_CALL_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/math/convolution_shape.h"

namespace cleave::runtime {

enum class ConvolutionType { kFloat, kTf32, kBf16, kF16 };

// What the library is told about one dimension.
struct Along {
  int64_t input = 1;
  int64_t output = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // Padding, on both sides.
  int64_t behind = 0;
  int64_t first = 0;  // The element of the rank's piece at which `input` begins.
  int64_t has = 1;    // The elements of the rank's piece.

  Along() = default;
  // The whole of the rank's piece with as much padding on both sides, if the library counts as many places so; else the
  // elements that the kernel looks at, with what is missing on either side.
  explicit Along(const Sliding& sliding)
      : input(sliding.input.size),
        output(sliding.output.size),
        kernel(sliding.kernel),
        stride(sliding.stride),
        dilation(sliding.dilation),
        before(-sliding.first()),
        behind(before),
        has(input) {
    const int64_t room = input + 2 * before - dilation * (kernel - 1) - 1;
    if (before >= 0 && room >= 0 && room / stride + 1 == output) return;
    const Side seen(sliding);
    input = seen.size();
    first = seen.begin;
    before = seen.padding_before;
    behind = seen.padding_behind;
  }

  bool SeesAll() const { return input == has; }

  auto Fields() const { return std::tie(input, output, kernel, stride, dilation, before, behind, first, has); }
};

struct ConvolutionCall {
  Direction direction;
  ConvolutionType type;
  bool gives_floats;   // The result is of floats, whatever the type of the factors.
  bool channels_last;  // Images are [samples, rows, columns, channels], and filters likewise.
  int64_t alignment;   // Bytes; all tensors begin at multiples of it.
  ConvolutionSizes sizes;
  Along rows;
  Along columns;

  bool operator==(const ConvolutionCall& other) const {
    const auto fields = [](const ConvolutionCall& c) {
      return std::make_tuple(c.direction, c.type, c.gives_floats, c.channels_last, c.alignment, c.sizes.samples,
                             c.sizes.channels, c.sizes.filters, c.sizes.filter_channels, c.rows.Fields(),
                             c.columns.Fields());
    };
    return fields(*this) == fields(other);
  }
};

// Whether the factors are of 16 bits, and the result is of floats.
inline bool IsWidened(const ConvolutionCall& call) {
  return call.gives_floats && (call.type == ConvolutionType::kBf16 || call.type == ConvolutionType::kF16);
}

// The numbers by which a graph knows its tensors.
enum ConvolutionTensor : int64_t { kImages = 1, kFilter, kPlaces };

struct ConvolutionBox {
  std::vector<int64_t> sizes;    // Samples, channels, rows, columns.
  std::vector<int64_t> strides;  // Of these.
};

inline ConvolutionBox BoxOf(const ConvolutionCall& call, ConvolutionTensor tensor) {
  const ConvolutionSizes& s = call.sizes;
  const auto box = [&](int64_t samples, int64_t channels, std::pair<int64_t, int64_t> rows,
                       std::pair<int64_t, int64_t> columns) {
    // Of each pair the first number is how many there are in memory, the second how many of them are used.
    const int64_t area = rows.first * columns.first;
    const std::vector<int64_t> strides =
        call.channels_last ? std::vector<int64_t>{channels * area, 1, channels * columns.first, channels}
                           : std::vector<int64_t>{channels * area, area, columns.first, 1};
    return ConvolutionBox{{samples, channels, rows.second, columns.second}, strides};
  };
  switch (tensor) {
    case kImages:
      return box(s.samples, s.channels, {call.rows.has, call.rows.input}, {call.columns.has, call.columns.input});
    case kFilter:
      return box(s.filters, s.filter_channels, {call.rows.kernel, call.rows.kernel},
                 {call.columns.kernel, call.columns.kernel});
    case kPlaces:
      break;
  }
  return box(s.samples, s.filters, {call.rows.output, call.rows.output}, {call.columns.output, call.columns.output});
}

// Whether cuDNN has a plan for the call: it is made at the first call, before anything is recorded. If not, `why` says
// why. REQUIRES: there are products.
bool HasConvolutionPlan(const ConvolutionCall& call, std::string& why);

// Runs the plan: the tensor that the call's direction makes is written, of images only the elements that `rows` and
// `columns` name. REQUIRES: there is a plan; the tensors lie and are aligned as the call says.
void ConvolveByPlan(const ConvolutionCall& call, void* x, void* filter, void* y);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CUDNN_CONVOLUTION_CALL_H_
