// Compares convolutions of images in blocks of channels with those of the same images as they lie ordinarily, for every
// implementation: on CPUs blocks have 16 channels, on GPUs all.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/device/device_vector.h"
#include "runtime/math/convolution.h"
#include "runtime/math/testing.h"

namespace cleave::runtime {
namespace {

struct Case {
  ConvolutionSizes sizes;
  Sliding rows, columns;

  int64_t Plane(bool is_y) const {
    return is_y ? rows.output.size * columns.output.size : rows.input.size * columns.input.size;
  }
  int64_t Elements(bool is_y) const { return sizes.samples * (is_y ? sizes.filters : sizes.channels) * Plane(is_y); }
};

bool IsOnGpu() { return !DeviceIdentity().empty(); }

// Planes of `size` elements in blocks of so many channels, or back.
template <typename T>
std::vector<T> Reordered(const std::vector<T>& values, int64_t size, int64_t block, bool to_blocks) {
  std::vector<T> result(values.size());
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    const int64_t plane = i / size;
    const int64_t in_block = (plane / block * size + i % size) * block + plane % block;
    result[static_cast<size_t>(to_blocks ? in_block : i)] = values[static_cast<size_t>(to_blocks ? i : in_block)];
  }
  return result;
}

// What the three directions make; images lie as `blocks` says on the way in, and ordinarily in the result.
template <typename T>
std::vector<std::vector<float>> Convolved(const Case& c, const ImageBlocks& blocks) {
  const auto lying = [](const std::vector<T>& values, int64_t size, int64_t block) {
    return block > 0 ? Reordered(values, size, block, true) : values;
  };
  const DeviceVector<T> x(lying(NormalValues<T>(c.Elements(false), 1), c.Plane(false), blocks.x));
  const DeviceVector<T> dy(lying(NormalValues<T>(c.Elements(true), 2), c.Plane(true), blocks.y));
  const DeviceVector<T> filter(
      NormalValues<T>(c.sizes.filters * c.sizes.filter_channels * c.rows.kernel * c.columns.kernel, 3));
  // Results are written over other values.
  const auto garbage = [](int64_t count) { return std::vector<T>(static_cast<size_t>(count), T(std::nanf(""))); };
  const DeviceVector<T> device_y(garbage(dy.size())), device_dx(garbage(x.size()));
  const DeviceVector<float> dfilter(std::vector<float>(static_cast<size_t>(filter.size()), std::nanf("")));
  Conv2d(c.sizes, c.rows, c.columns, x.get(), filter.get(), device_y.get(), blocks);
  Conv2dGradientInput(c.sizes, c.rows, c.columns, dy.get(), filter.get(), device_dx.get(), blocks);
  Conv2dGradientFilter(c.sizes, c.rows, c.columns, dy.get(), x.get(), dfilter.get(), blocks);
  std::vector<T> y = device_y.Values(), dx = device_dx.Values();
  if (blocks.y > 0) y = Reordered(y, c.Plane(true), blocks.y, false);
  if (blocks.x > 0) dx = Reordered(dx, c.Plane(false), blocks.x, false);
  return {std::vector<float>(y.begin(), y.end()), std::vector<float>(dx.begin(), dx.end()), dfilter.Values()};
}

template <typename T>
void ExpectTheSame(const Case& c, double rounding) {
  const std::vector<std::vector<float>> ordinary = Convolved<T>(c, {});
  const ImageBlocks both =
      IsOnGpu() ? ImageBlocks{c.sizes.channels, c.sizes.filters} : ImageBlocks{kBlockChannels, kBlockChannels};
  for (const ImageBlocks& blocks : {ImageBlocks{.x = both.x}, ImageBlocks{.y = both.y}, both}) {
    if (blocks.x > 0 && c.sizes.channels % blocks.x != 0) continue;
    if (blocks.y > 0 && c.sizes.filters % blocks.y != 0) continue;
    const std::vector<std::vector<float>> results = Convolved<T>(c, blocks);
    for (size_t i = 0; i < results.size(); ++i) {
      for (size_t j = 0; j < results[i].size(); ++j) {
        ASSERT_NEAR(results[i][j], ordinary[i][j], rounding * (std::abs(ordinary[i][j]) + 8))
            << "result " << i << ", element " << j << ", in blocks of " << blocks.x << " and " << blocks.y;
      }
    }
  }
}

void ExpectTheSame(const Case& c) {
  ExpectTheSame<float>(c, 1e-5);
  ExpectTheSame<BFloat16>(c, 1.0 / 128);
  ExpectTheSame<Float16>(c, 1.0 / 1024);
}

// The whole of a dimension of `input` elements.
Sliding All(int64_t input, Sliding sliding) {
  sliding.input = {0, input};
  sliding.output = {0, (input + 2 * sliding.padding - sliding.kernel) / sliding.stride + 1};
  return sliding;
}

TEST(ImageBlocksTest, WholeImages) {
  const Sliding padded = {.kernel = 3, .padding = 1};
  ExpectTheSame({{2, 16, 32, 16}, All(9, padded), All(7, padded)});
  ExpectTheSame({{2, 32, 48, 32}, All(8, {.kernel = 1, .stride = 2}), All(6, {.kernel = 1, .stride = 2})});
  ExpectTheSame({{3, 3, 16, 3}, All(8, padded), All(6, {.kernel = 3, .stride = 2})});
  ExpectTheSame({{3, 5, 16, 5}, All(8, padded), All(6, padded)});
  ExpectTheSame({{2, 16, 10, 16}, All(8, padded), All(6, padded)});
}

TEST(ImageBlocksTest, Groups) {
  if (!IsOnGpu()) GTEST_SKIP() << "what oneDNN wants depends on the number of groups";
  const Sliding padded = {.kernel = 3, .padding = 1};
  ExpectTheSame({{2, 6, 4, 3}, All(5, padded), All(4, padded)});
  ExpectTheSame({{2, 8, 8, 1}, All(5, padded), All(4, {.kernel = 3, .stride = 2})});
}

// So many samples that those in ordinary layouts are convolved in parts.
TEST(ImageBlocksTest, ManySamples) {
  ExpectTheSame<float>({{60, 16, 16, 16}, All(20, {.kernel = 1}), All(32, {.kernel = 1})}, 1e-4);
}

// The kernel does not look at all elements, and starts in the middle of the rank's piece or in its padding.
TEST(ImageBlocksTest, Pieces) {
  const Sliding columns = All(6, {.kernel = 3, .padding = 1});
  ExpectTheSame({{2, 16, 16, 16}, {{0, 8}, {2, 4}, 2, 1, 0, 1}, columns});
  ExpectTheSame({{2, 16, 16, 16}, columns, {{3, 9}, {1, 3}, 2, 3, 0, 1}});
  ExpectTheSame({{2, 16, 16, 16}, {{4, 6}, {4, 6}, 3, 1, 1, 1}, columns});
}

}  // namespace
}  // namespace cleave::runtime
