#include "runtime/kernels/movement.h"

#include <numeric>
#include <random>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/kernels/testing.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// Numbers that every type holds exactly.
template <typename T>
std::vector<T> Numbers(int64_t count) {
  std::vector<T> values;
  constexpr int64_t kNumbers = sizeof(T) == 1 ? 101 : 251;
  for (int64_t i = 0; i < count; ++i) values.push_back(T(static_cast<float>(i % kNumbers)));
  return values;
}

template <typename T>
std::vector<float> AsFloats(const std::vector<T>& values) {
  std::vector<float> floats;
  for (const T& value : values) floats.push_back(static_cast<float>(value));
  return floats;
}

template <typename T>
class Movement : public testing::Test {};
using ElementTypes = testing::Types<float, int32_t, int8_t, BFloat16, Float16>;
TYPED_TEST_SUITE(Movement, ElementTypes);

// Calls visit(position) for every position in a tensor, the last dimension first.
template <typename Visit>
void ForEachPosition(const std::vector<int64_t>& shape, Visit visit) {
  if (ElementCount(shape) == 0) return;
  std::vector<int64_t> position(shape.size(), 0);
  while (true) {
    visit(position);
    size_t d = shape.size();
    while (d > 0 && ++position[d - 1] == shape[d - 1]) position[--d] = 0;
    if (d == 0) return;
  }
}

size_t IndexOf(const std::vector<int64_t>& shape, const std::vector<int64_t>& position) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + position[d];
  return static_cast<size_t>(index);
}

TYPED_TEST(Movement, TransposeMovesEveryElement) {
  using T = TypeParam;
  const std::vector<std::vector<int64_t>> shapes = {{},           {3, 5},     {2, 3, 4},       {4, 1, 6},
                                                    {2, 3, 4, 5}, {70, 300},  {3, 0, 2},       {9, 33, 65},
                                                    {2, 8, 3, 8}, {40, 3, 9}, {2, 3, 2, 3, 2}, {5, 12, 16}};
  for (const std::vector<int64_t>& shape : shapes) {
    std::vector<int> permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    const std::vector<T> x = Numbers<T>(ElementCount(shape));
    int64_t offset = 0;
    do {
      offset = (offset + 1) % 3;
      const Placed<T> y(ElementCount(shape), offset);
      Transpose<T>(Placed<T>(x, offset), shape, permutation, y);
      std::vector<int64_t> target(shape.size());
      for (size_t d = 0; d < shape.size(); ++d) target[d] = shape[static_cast<size_t>(permutation[d])];
      std::vector<float> expected;
      ForEachPosition(target, [&](const std::vector<int64_t>& position) {
        std::vector<int64_t> from(shape.size());
        for (size_t d = 0; d < shape.size(); ++d) from[static_cast<size_t>(permutation[d])] = position[d];
        expected.push_back(static_cast<float>(x[IndexOf(shape, from)]));
      });
      ASSERT_EQ(AsFloats(y.Values()), expected)
          << testing::PrintToString(shape) << " by " << testing::PrintToString(permutation);
    } while (std::next_permutation(permutation.begin(), permutation.end()));
  }
}

struct Box {
  std::vector<int64_t> shape;
  std::vector<int64_t> begin;
  std::vector<int64_t> size;
};

// Runs of each unit in which they are moved, and an empty one.
TYPED_TEST(Movement, BoxesAreCopiedAndPastedBack) {
  using T = TypeParam;
  for (const Box& box :
       {Box{{4, 5, 6}, {1, 2, 0}, {2, 3, 6}}, Box{{4, 5, 6}, {0, 0, 0}, {4, 5, 6}},
        Box{{4, 5, 6}, {3, 1, 2}, {1, 1, 1}}, Box{{8, 16}, {1, 8}, {5, 8}}, Box{{8, 16}, {1, 4}, {5, 12}},
        Box{{8, 16}, {1, 2}, {5, 6}}, Box{{8, 15}, {1, 2}, {5, 6}}, Box{{4, 5, 6}, {4, 0, 0}, {0, 5, 6}},
        Box{{}, {}, {}}, Box{{3, 4, 5, 8}, {1, 1, 1, 0}, {2, 2, 3, 8}}}) {
    for (const int64_t offset : {0, 1}) {
      SCOPED_TRACE(testing::Message() << testing::PrintToString(box.shape) << " at " << offset);
      const std::vector<T> x = Numbers<T>(ElementCount(box.shape));
      std::vector<float> inside;
      std::vector<float> pasted = AsFloats(x);
      ForEachPosition(box.size, [&](std::vector<int64_t> position) {
        for (size_t d = 0; d < position.size(); ++d) position[d] += box.begin[d];
        float& element = pasted[IndexOf(box.shape, position)];
        inside.push_back(element);
        element += 3.0f;
      });
      const Placed<T> copy(ElementCount(box.size), offset);
      CopyBox<T>(Placed<T>(x, offset), box.shape, box.begin, box.size, copy);
      EXPECT_EQ(AsFloats(copy.Values()), inside);

      std::vector<T> changed;
      for (const float value : inside) changed.push_back(T(value + 3.0f));
      const Placed<T> y(x, offset);
      PasteBox<T>(Placed<T>(changed, offset), box.size, box.begin, box.shape, y);
      EXPECT_EQ(AsFloats(y.Values()), pasted);
    }
  }
}

TYPED_TEST(Movement, FillAndCopy) {
  using T = TypeParam;
  for (const int64_t count : {0, 1, 3, 8, 1000, 70001}) {
    for (const int64_t offset : {0, 1}) {
      const Placed<T> y(count, offset);
      Fill<T>(T(5), count, y);
      EXPECT_EQ(AsFloats(y.Values()), std::vector<float>(static_cast<size_t>(count), 5.0f));
      const std::vector<T> x = Numbers<T>(count);
      Copy<T>(Placed<T>(x, offset), count, y);
      EXPECT_EQ(AsFloats(y.Values()), AsFloats(x));
    }
  }
}

struct MaskCase {
  int64_t matrices;
  int64_t rows;
  int64_t columns;
  int64_t first_row;
  int64_t first_column;
  int64_t window = 0;
};

template <typename T>
void CheckMask(const MaskCase& at, int64_t offset) {
  const std::vector<T> x = Numbers<T>(at.matrices * at.rows * at.columns);
  const Placed<T> y(static_cast<int64_t>(x.size()), offset);
  CausalMask<T>(Placed<T>(x, offset), at.matrices, at.rows, at.columns, at.first_row, at.first_column, at.window, -5.0f,
                y);
  std::vector<float> expected = AsFloats(x);
  ForEachPosition({at.matrices, at.rows, at.columns}, [&](const std::vector<int64_t>& position) {
    const int64_t before = at.first_row + position[1] - (at.first_column + position[2]);
    const bool is_kept = before >= 0 && (at.window == 0 || before < at.window);
    if (!is_kept) expected[IndexOf({at.matrices, at.rows, at.columns}, position)] = -5.0f;
  });
  EXPECT_EQ(AsFloats(y.Values()), expected);
}

TEST(CausalMask, KnowsItsPlace) {
  for (const MaskCase& at :
       {MaskCase{2, 2, 3, 2, 1}, MaskCase{3, 17, 16, 0, 0}, MaskCase{2, 8, 8, 8, 0}, MaskCase{2, 8, 8, 0, 8},
        MaskCase{1, 5, 9, 3, 1}, MaskCase{0, 4, 4, 0, 0}, MaskCase{3, 17, 16, 0, 0, 3}, MaskCase{2, 5, 9, 12, 1, 7}}) {
    for (const int64_t offset : {0, 1}) {
      CheckMask<float>(at, offset);
      CheckMask<BFloat16>(at, offset);
      CheckMask<Float16>(at, offset);
    }
  }
}

TEST(RangeMask, KnowsSamplesAndTheFirstColumn) {
  std::mt19937 random(3);
  for (const int64_t columns : {1, 9, 16}) {
    constexpr int64_t kSamples = 2, kHeads = 3, kRows = 5, kFirstColumn = 4;
    std::vector<int32_t> first, end;
    for (int64_t i = 0; i < kSamples * kRows; ++i) {
      first.push_back(static_cast<int32_t>(random() % 12));
      end.push_back(static_cast<int32_t>(random() % 24));
    }
    const std::vector<float> x = Numbers<float>(kSamples * kHeads * kRows * columns);
    std::vector<float> expected = x;
    ForEachPosition({kSamples, kHeads, kRows, columns}, [&](const std::vector<int64_t>& position) {
      const auto row = static_cast<size_t>(position[0] * kRows + position[2]);
      const int64_t column = kFirstColumn + position[3];
      const bool is_kept = first[row] <= column && column < end[row];
      if (!is_kept) expected[IndexOf({kSamples, kHeads, kRows, columns}, position)] = -5.0f;
    });
    const Placed<float> y(static_cast<int64_t>(x.size()));
    RangeMask<float>(Placed<float>(x), kSamples, kHeads, kRows, columns, kFirstColumn, Placed<int32_t>(first),
                     Placed<int32_t>(end), -5.0f, y);
    EXPECT_EQ(y.Values(), expected);
  }
}

}  // namespace
}  // namespace cleave::runtime
