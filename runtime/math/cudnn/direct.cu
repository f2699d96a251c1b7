// One thread computes each element of y or x, and one warp each element of the filter. Each goes through the products
// of its sum and leaves out those with padding.
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/slide.cuh"
#include "runtime/math/cudnn/direct.cuh"

namespace cleave::runtime {
namespace {

struct Images {
  int64_t samples;
  int64_t channels;
  int64_t filters;
  int64_t filter_channels;
  int64_t group_filters;  // Filters of one group.
  Slide rows;
  Slide columns;
  ImageBlocks last;  // Of which images the channels lie last.

  explicit Images(const ConvolutionShape& shape)
      : samples(shape.sizes.samples),
        channels(shape.sizes.channels),
        filters(shape.sizes.filters),
        filter_channels(shape.sizes.filter_channels),
        group_filters(filters / (channels / filter_channels)),
        rows(shape.rows),
        columns(shape.columns),
        last(shape.blocks) {}

  __device__ int64_t X(int64_t sample, int64_t channel, int64_t row, int64_t column) const {
    if (last.x) return ((sample * rows.input + row) * columns.input + column) * channels + channel;
    return ((sample * channels + channel) * rows.input + row) * columns.input + column;
  }
  __device__ int64_t Filter(int64_t filter, int64_t channel, int64_t row, int64_t column) const {
    return ((filter * filter_channels + channel) * rows.kernel + row) * columns.kernel + column;
  }
  __device__ int64_t Y(int64_t sample, int64_t filter, int64_t row, int64_t column) const {
    if (last.y) return ((sample * rows.output + row) * columns.output + column) * filters + filter;
    return ((sample * filters + filter) * rows.output + row) * columns.output + column;
  }
};

template <typename In, typename Out>
__global__ void MakeY(Images images, int64_t count, const In* x, const In* filters, Out* y) {
  const Slide& rows = images.rows;
  const Slide& columns = images.columns;
  for (int64_t at = FirstElement(); at < count; at += ElementStride()) {
    const int64_t j = at % columns.output;
    const int64_t i = at / columns.output % rows.output;
    const int64_t filter = at / columns.output / rows.output % images.filters;
    const int64_t sample = at / columns.output / rows.output / images.filters;
    const int64_t first_channel = filter / images.group_filters * images.filter_channels;
    float sum = 0.0f;
    for (int64_t c = 0; c < images.filter_channels; ++c) {
      for (int64_t row_tap = 0; row_tap < rows.kernel; ++row_tap) {
        const int64_t row = rows.At(i, row_tap);
        if (!rows.Has(row)) continue;
        for (int64_t tap = 0; tap < columns.kernel; ++tap) {
          const int64_t column = columns.At(j, tap);
          if (!columns.Has(column)) continue;
          sum += static_cast<float>(x[images.X(sample, first_channel + c, row, column)]) *
                 static_cast<float>(filters[images.Filter(filter, c, row_tap, tap)]);
        }
      }
    }
    y[images.Y(sample, filter, i, j)] = static_cast<Out>(sum);
  }
}

template <typename In, typename Out>
__global__ void MakeDx(Images images, int64_t count, const In* dy, const In* filters, Out* dx) {
  const Slide& rows = images.rows;
  const Slide& columns = images.columns;
  for (int64_t at = FirstElement(); at < count; at += ElementStride()) {
    const int64_t column = at % columns.input;
    const int64_t row = at / columns.input % rows.input;
    const int64_t channel = at / columns.input / rows.input % images.channels;
    const int64_t sample = at / columns.input / rows.input / images.channels;
    const int64_t c = channel % images.filter_channels;
    const int64_t first_filter = channel / images.filter_channels * images.group_filters;
    float sum = 0.0f;
    for (int64_t row_tap = 0; row_tap < rows.kernel; ++row_tap) {
      const int64_t i = rows.PlaceOf(row, row_tap);
      if (i < 0) continue;
      for (int64_t tap = 0; tap < columns.kernel; ++tap) {
        const int64_t j = columns.PlaceOf(column, tap);
        if (j < 0) continue;
        for (int64_t filter = first_filter; filter < first_filter + images.group_filters; ++filter) {
          sum += static_cast<float>(dy[images.Y(sample, filter, i, j)]) *
                 static_cast<float>(filters[images.Filter(filter, c, row_tap, tap)]);
        }
      }
    }
    dx[images.X(sample, channel, row, column)] = static_cast<Out>(sum);
  }
}

constexpr int kWarp = 32;

// The sum of the values of a warp's lanes. Pairs are added in one order.
__device__ inline float SumOfWarp(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, lanes);
  return value;
}

template <typename In, typename Out>
__global__ void MakeDfilter(Images images, int64_t count, const In* dy, const In* x, Out* dfilter) {
  const Slide& rows = images.rows;
  const Slide& columns = images.columns;
  const int64_t places = images.samples * rows.output * columns.output;
  for (int64_t at = FirstElement() / kWarp; at < count; at += ElementStride() / kWarp) {
    const int64_t tap = at % columns.kernel;
    const int64_t row_tap = at / columns.kernel % rows.kernel;
    const int64_t c = at / columns.kernel / rows.kernel % images.filter_channels;
    const int64_t filter = at / columns.kernel / rows.kernel / images.filter_channels;
    const int64_t channel = filter / images.group_filters * images.filter_channels + c;
    float sum = 0.0f;
    for (int64_t place = threadIdx.x % kWarp; place < places; place += kWarp) {
      const int64_t j = place % columns.output;
      const int64_t i = place / columns.output % rows.output;
      const int64_t sample = place / columns.output / rows.output;
      const int64_t row = rows.At(i, row_tap);
      const int64_t column = columns.At(j, tap);
      if (!rows.Has(row) || !columns.Has(column)) continue;
      sum += static_cast<float>(dy[images.Y(sample, filter, i, j)]) *
             static_cast<float>(x[images.X(sample, channel, row, column)]);
    }
    sum = SumOfWarp(sum);
    if (threadIdx.x % kWarp == 0) dfilter[at] = static_cast<Out>(sum);
  }
}

}  // namespace

template <typename In, typename Out>
void DirectForward(const ConvolutionShape& shape, const In* x, const In* filter, Out* y) {
  const int64_t count = ElementsOfY(shape);
  Launch(MakeY<In, Out>, ForElements(count), Images(shape), count, x, filter, y);
}
template <typename In, typename Out>
void DirectGradientInput(const ConvolutionShape& shape, const In* dy, const In* filter, Out* dx) {
  const int64_t count = ElementsOfX(shape);
  Launch(MakeDx<In, Out>, ForElements(count), Images(shape), count, dy, filter, dx);
}
template <typename In, typename Out>
void DirectGradientFilter(const ConvolutionShape& shape, const In* dy, const In* x, Out* dfilter) {
  const int64_t count = ElementsOfFilter(shape);
  Launch(MakeDfilter<In, Out>, ForElements(count * kWarp), Images(shape), count, dy, x, dfilter);
}

#define CLEAVE_DIRECT(In, Out)                                                            \
  template void DirectForward(const ConvolutionShape&, const In*, const In*, Out*);       \
  template void DirectGradientInput(const ConvolutionShape&, const In*, const In*, Out*); \
  template void DirectGradientFilter(const ConvolutionShape&, const In*, const In*, Out*);
CLEAVE_DIRECT(float, float)
CLEAVE_DIRECT(BFloat16, float)
CLEAVE_DIRECT(BFloat16, BFloat16)
CLEAVE_DIRECT(Float16, float)
CLEAVE_DIRECT(Float16, Float16)
#undef CLEAVE_DIRECT

}  // namespace cleave::runtime
