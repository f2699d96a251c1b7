// Compares pooling with loops over whole images: a piece of the result must equal the result of the piece.
#include "runtime/kernels/pooling.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

// All of a dimension of `input` elements.
Sliding Whole(int64_t input, Sliding sliding) {
  sliding.input = {0, input};
  sliding.output = {0, (input + 2 * sliding.padding - sliding.kernel) / sliding.stride + 1};
  return sliding;
}

// The part of the input that one output piece reads, and the part of the output that reads one input piece.
Sliding OfOutput(const Sliding& whole, int64_t pieces, int64_t i) {
  const Window window = {.elements = whole.input.size,
                         .outer = whole.output.size,
                         .numerator = whole.stride,
                         .first = -whole.padding,
                         .last = whole.kernel - 1 - whole.padding};
  Sliding piece = whole;
  piece.output = Piece(whole.output.size, pieces, i);
  piece.input = window.Of(piece.output);
  return piece;
}
Sliding OfInput(const Sliding& whole, int64_t pieces, int64_t i) {
  const Window window = {.elements = whole.output.size,
                         .outer = whole.input.size,
                         .denominator = whole.stride,
                         .first = whole.padding - whole.kernel + whole.stride,
                         .last = whole.padding};
  Sliding piece = whole;
  piece.input = Piece(whole.input.size, pieces, i);
  piece.output = window.Of(piece.input);
  return piece;
}

template <typename T>
std::vector<T> Box(const std::vector<T>& values, int64_t planes, const std::vector<int64_t>& size, Range rows,
                   Range columns) {
  std::vector<T> box;
  for (int64_t p = 0; p < planes; ++p) {
    for (int64_t i = rows.begin; i < rows.begin + rows.size; ++i) {
      for (int64_t j = columns.begin; j < columns.begin + columns.size; ++j) {
        box.push_back(values[static_cast<size_t>((p * size[0] + i) * size[1] + j)]);
      }
    }
  }
  return box;
}

// Images of `planes` planes with everything that is made from them, one element after another.
struct Images {
  int64_t planes;
  Sliding rows, columns;
  std::vector<float> x, dy, max, mean, max_gradient, mean_gradient;
  std::vector<int32_t> index;

  Images(int64_t plane_count, const Sliding& along_rows, const Sliding& along_columns)
      : planes(plane_count), rows(along_rows), columns(along_columns) {
    std::mt19937 random(7);
    // Only few different values, so that equal ones are compared.
    std::uniform_int_distribution<int> values(-3, 3);
    x.resize(static_cast<size_t>(planes * rows.input.size * columns.input.size));
    dy.resize(static_cast<size_t>(planes * rows.output.size * columns.output.size));
    for (float& value : x) value = static_cast<float>(values(random));
    for (float& value : dy) value = static_cast<float>(values(random));
    max_gradient.resize(x.size());
    mean_gradient.resize(x.size());
    for (size_t i = 0; i < dy.size(); ++i) AddPlace(static_cast<int64_t>(i));
  }

  void AddPlace(int64_t place) {
    const float count = static_cast<float>(rows.kernel * columns.kernel);
    const int64_t j = place % columns.output.size;
    const int64_t i = place / columns.output.size % rows.output.size;
    const int64_t plane = place / columns.output.size / rows.output.size;
    float largest = -std::numeric_limits<float>::infinity();
    float sum = 0;
    int32_t best = 0;
    size_t best_element = 0;
    for (int32_t tap = 0; tap < rows.kernel * columns.kernel; ++tap) {
      const int64_t row = i * rows.stride - rows.padding + tap / columns.kernel;
      const int64_t column = j * columns.stride - columns.padding + tap % columns.kernel;
      if (row < 0 || row >= rows.input.size || column < 0 || column >= columns.input.size) continue;
      const auto element = static_cast<size_t>((plane * rows.input.size + row) * columns.input.size + column);
      sum += x[element];
      mean_gradient[element] += dy[static_cast<size_t>(place)] / count;
      if (x[element] <= largest) continue;
      largest = x[element];
      best = tap;
      best_element = element;
    }
    max.push_back(largest);
    mean.push_back(sum / count);
    index.push_back(best);
    max_gradient[best_element] += dy[static_cast<size_t>(place)];
  }

  std::vector<int64_t> InputSize() const { return {rows.input.size, columns.input.size}; }
  std::vector<int64_t> OutputSize() const { return {rows.output.size, columns.output.size}; }
};

template <typename T>
std::vector<double> InDouble(const std::vector<T>& values) {
  return std::vector<double>(values.begin(), values.end());
}

void CheckForward(const Images& images, const Sliding& rows, const Sliding& columns) {
  const Placed<float> x(Box(images.x, images.planes, images.InputSize(), rows.input, columns.input));
  const auto expected = [&](const auto& values) {
    return Box(values, images.planes, images.OutputSize(), rows.output, columns.output);
  };
  const Placed<float> y(static_cast<int64_t>(expected(images.max).size()));
  const Placed<int32_t> index(static_cast<int64_t>(expected(images.max).size()));
  MaxPool(x, images.planes, rows, columns, y);
  EXPECT_EQ(y.Values(), expected(images.max));
  MaxPoolIndex(x, images.planes, rows, columns, index);
  EXPECT_EQ(index.Values(), expected(images.index));
  AvgPool(x, images.planes, rows, columns, y);
  ExpectNear(y.Values(), InDouble(expected(images.mean)), 1e-5);
}

void CheckBackward(const Images& images, const Sliding& rows, const Sliding& columns) {
  const auto box = [&](const auto& values) {
    return Box(values, images.planes, images.OutputSize(), rows.output, columns.output);
  };
  const auto expected = [&](const auto& values) {
    return Box(values, images.planes, images.InputSize(), rows.input, columns.input);
  };
  const Placed<float> dy(box(images.dy));
  const Placed<float> dx(static_cast<int64_t>(expected(images.x).size()));
  MaxPoolGradient(dy, Placed<int32_t>(box(images.index)), images.planes, rows, columns, dx);
  EXPECT_EQ(dx.Values(), expected(images.max_gradient));
  AvgPoolGradient(dy, images.planes, rows, columns, dx);
  ExpectNear(dx.Values(), InDouble(expected(images.mean_gradient)), 1e-5);
}

void Check(int64_t planes, const Sliding& rows, const Sliding& columns) {
  const Images images(planes, rows, columns);
  for (const int64_t pieces : {1, 2, 3, 7}) {
    for (int64_t i = 0; i < pieces; ++i) {
      SCOPED_TRACE(testing::Message() << "piece " << i << " of " << pieces);
      CheckForward(images, OfOutput(rows, pieces, i), columns);
      CheckForward(images, OfOutput(rows, 2, i % 2), OfOutput(columns, pieces, i));
      CheckBackward(images, OfInput(rows, pieces, i), columns);
      CheckBackward(images, OfInput(rows, 2, i % 2), OfInput(columns, pieces, i));
    }
  }
}

TEST(PoolingTest, Images) {
  const Sliding halves = {.kernel = 2, .stride = 2};
  Check(3, Whole(6, halves), Whole(8, halves));
  Check(2, Whole(7, halves), Whole(5, halves));
  Check(2, Whole(7, {.kernel = 3, .padding = 1}), Whole(9, {.kernel = 3, .stride = 2, .padding = 2}));
  Check(1, Whole(11, {.kernel = 2, .stride = 3}), Whole(10, {.kernel = 4, .stride = 3, .padding = 1}));
  Check(16, Whole(5, halves), Whole(19, {.kernel = 3, .stride = 2, .padding = 1}));
  Check(21, Whole(6, halves), Whole(7, {.kernel = 3, .stride = 2, .padding = 1}));
}

// Rows longer and shorter than vectors, of kernels that lie side by side.
TEST(PoolingTest, SideBySide) {
  const Sliding halves = {.kernel = 2, .stride = 2};
  Check(3, Whole(4, halves), Whole(46, halves));
  Check(2, Whole(9, {.kernel = 3, .stride = 3}), Whole(34, halves));
}

// Planes of `size` elements as blocks of channels hold them.
template <typename T>
std::vector<T> InBlocks(const std::vector<T>& values, int64_t size) {
  std::vector<T> result(values.size());
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    const int64_t plane = i / size;
    const int64_t at = (plane / kBlockChannels * size + i % size) * kBlockChannels + plane % kBlockChannels;
    result[static_cast<size_t>(at)] = values[static_cast<size_t>(i)];
  }
  return result;
}

// Whatever lies in blocks, pooling makes the same of it.
TEST(PoolingTest, OfBlocks) {
  const Images images(48, Whole(9, {.kernel = 3, .stride = 2, .padding = 1}), Whole(20, {.kernel = 2, .stride = 2}));
  const int64_t planes = images.planes;
  const Sliding &rows = images.rows, &columns = images.columns;
  for (const ImageBlocks& blocks : {ImageBlocks{.x = kBlockChannels}, ImageBlocks{.y = kBlockChannels},
                                    ImageBlocks{kBlockChannels, kBlockChannels}}) {
    const auto as_x = [&](const auto& values) {
      return blocks.x > 0 ? InBlocks(values, rows.input.size * columns.input.size) : values;
    };
    const auto as_y = [&](const auto& values) {
      return blocks.y > 0 ? InBlocks(values, rows.output.size * columns.output.size) : values;
    };
    const Placed<float> x(as_x(images.x)), dy(as_y(images.dy));
    const Placed<float> y(static_cast<int64_t>(images.dy.size())), dx(static_cast<int64_t>(images.x.size()));
    const Placed<int32_t> index(static_cast<int64_t>(images.dy.size()));
    MaxPool(x, planes, rows, columns, y, blocks);
    EXPECT_EQ(y.Values(), as_y(images.max));
    MaxPoolIndex(x, planes, rows, columns, index, blocks);
    EXPECT_EQ(index.Values(), as_y(images.index));
    AvgPool(x, planes, rows, columns, y, blocks);
    ExpectNear(y.Values(), InDouble(as_y(images.mean)), 1e-5);
    MaxPoolGradient(dy, index, planes, rows, columns, dx, blocks);
    EXPECT_EQ(dx.Values(), as_x(images.max_gradient));
    AvgPoolGradient(dy, planes, rows, columns, dx, blocks);
    ExpectNear(dx.Values(), InDouble(as_x(images.mean_gradient)), 1e-5);
  }
}

TEST(PoolingTest, ANanIsTheLargest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  // Two rows of places, and three places in each.
  const Placed<float> x({1, nan, infinity, 5, -infinity, -infinity, 9, nan, nan, 5,   -infinity, -infinity,  //
                         2, 2,   0,        1, -infinity, 3,         2, 2,   7,   nan, infinity,  4});
  for (const int64_t stride : {2, 1}) {
    const Sliding columns = Whole(6, {.kernel = 2, .stride = stride});
    const Sliding rows = Whole(4, {.kernel = 2, .stride = 2});
    const int64_t count = 2 * columns.output.size;
    const Placed<float> y(count);
    const Placed<int32_t> index(count);
    MaxPool(x, 1, rows, columns, y);
    MaxPoolIndex(x, 1, rows, columns, index);
    const int64_t step = 2 / stride;
    const auto at = [&](int64_t i, int64_t j) { return static_cast<size_t>(i * columns.output.size + j * step); };
    EXPECT_TRUE(std::isnan(y.Values()[at(0, 0)]));
    EXPECT_EQ(index.Values()[at(0, 0)], 1);
    EXPECT_TRUE(std::isnan(y.Values()[at(0, 1)]));
    EXPECT_EQ(index.Values()[at(0, 1)], 2);
    EXPECT_EQ(y.Values()[at(0, 2)], -infinity);
    EXPECT_EQ(index.Values()[at(0, 2)], 0);
    EXPECT_EQ(y.Values()[at(1, 0)], 2);
    EXPECT_EQ(index.Values()[at(1, 0)], 0);
    EXPECT_TRUE(std::isnan(y.Values()[at(1, 1)]));
    EXPECT_EQ(index.Values()[at(1, 1)], 3);
    EXPECT_EQ(y.Values()[at(1, 2)], infinity);
    EXPECT_EQ(index.Values()[at(1, 2)], 2);
  }
}

// Enough elements for several threads.
TEST(PoolingTest, ManyPlanes) {
  Check(64, Whole(28, {.kernel = 2, .stride = 2}), Whole(28, {.kernel = 3, .padding = 1}));
}

TEST(PoolingTest, NoPlanes) {
  const Sliding rows = Whole(4, {.kernel = 2, .stride = 2});
  MaxPool(nullptr, 0, rows, rows, nullptr);
  AvgPoolGradient(nullptr, 0, rows, rows, nullptr);
}

}  // namespace
}  // namespace cleave::runtime
