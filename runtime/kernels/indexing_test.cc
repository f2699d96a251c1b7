// Compares operations on rows that are chosen by number with plain loops, in tables whose rows can and cannot be moved
// by vectors.
#include "runtime/kernels/indexing.h"

#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

// The place of index `i` of the element of the batch to which `outer`, counted in the whole batch, belongs.
size_t IndexAt(const RowIndexing& indexing, int64_t outer, int64_t i) {
  return static_cast<size_t>(outer / indexing.outer * indexing.count + i);
}

std::vector<float> SumsInOrder(const std::vector<float>& updates, const std::vector<int32_t>& indices,
                               const RowIndexing& indexing) {
  const int64_t outer = indexing.batch * indexing.outer;
  std::vector<float> sums(static_cast<size_t>(outer * indexing.rows * indexing.inner), 0.0f);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < indexing.count; ++i) {
      const int64_t row = indices[IndexAt(indexing, o, i)] - indexing.first_row;
      if (row < 0 || row >= indexing.rows) continue;
      for (int64_t j = 0; j < indexing.inner; ++j) {
        sums[static_cast<size_t>((o * indexing.rows + row) * indexing.inner + j)] +=
            updates[static_cast<size_t>((o * indexing.count + i) * indexing.inner + j)];
      }
    }
  }
  return sums;
}

std::vector<float> RowsOf(const std::vector<float>& x, const std::vector<int32_t>& indices,
                          const RowIndexing& indexing) {
  std::vector<float> y;
  for (int64_t o = 0; o < indexing.batch * indexing.outer; ++o) {
    for (int64_t i = 0; i < indexing.count; ++i) {
      const int64_t row = indices[IndexAt(indexing, o, i)] - indexing.first_row;
      for (int64_t j = 0; j < indexing.inner; ++j) {
        const bool exists = row >= 0 && row < indexing.rows;
        y.push_back(exists ? x[static_cast<size_t>((o * indexing.rows + row) * indexing.inner + j)] : 0.0f);
      }
    }
  }
  return y;
}

// Numbers from `low` on. Low ones are more frequent, as with words.
std::vector<int32_t> RandomIndices(int64_t count, int32_t low, int32_t rows, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int32_t> uniform(0, rows - 1);
  std::vector<int32_t> indices(static_cast<size_t>(count));
  for (int32_t& index : indices) index = low + std::min(uniform(random), uniform(random));
  return indices;
}

// Tensors that begin `offset` elements after an aligned place.
void Check(const RowIndexing& indexing, int64_t offset, uint32_t seed) {
  SCOPED_TRACE(testing::Message() << indexing.batch << " x " << indexing.outer << " x " << indexing.count
                                  << " of rows [" << indexing.first_row << ", " << indexing.first_row + indexing.rows
                                  << ") x " << indexing.inner << ", offset " << offset);
  const std::vector<int32_t> indices =
      RandomIndices(indexing.batch * indexing.count, static_cast<int32_t>(indexing.first_row) - 2,
                    static_cast<int32_t>(indexing.rows) + 4, seed);
  const int64_t outer = indexing.batch * indexing.outer;
  const std::vector<float> table = RandomValues(outer * indexing.rows * indexing.inner, seed + 1);
  const std::vector<float> updates = RandomValues(outer * indexing.count * indexing.inner, seed + 2);
  const Placed<int32_t> placed_indices(indices);
  const Placed<float> y(static_cast<int64_t>(updates.size()), offset);
  Gather(Placed<float>(table, offset), placed_indices, indexing, y);
  EXPECT_EQ(y.Values(), RowsOf(table, indices, indexing));
  const Placed<float> sums(static_cast<int64_t>(table.size()), offset);
  ScatterAdd(Placed<float>(updates, offset), placed_indices, indexing, sums);
  EXPECT_EQ(sums.Values(),
            SumsInOrder(updates, indices, indexing));  // Equal to the last bit, because the order of the sum is given.
  const Placed<float> total(table, offset);
  AccumulateScatterAdd(false, Placed<float>(updates, offset), placed_indices, indexing, total);
  const std::vector<float> added = total.Values(), of_updates = sums.Values();
  float largest = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    // Where there are no updates, no bit may change.
    const float difference = of_updates[i] == 0 && added[i] != table[i] ? 1 : added[i] - (table[i] + of_updates[i]);
    largest = std::max(largest, std::abs(difference));
  }
  EXPECT_LE(largest, 1e-3f);
}

TEST(IndexingTest, GathersAndAddsInOrder) {
  uint32_t seed = 0;
  for (const int64_t inner : {1, 3, 4, 8, 70}) {
    for (const int64_t offset : {0, 1, 4}) {
      Check({1, 40, 9, inner, 0}, offset, ++seed);
      Check({3, 17, 6, inner, 5}, offset, ++seed);
      Check({1, 3000, 5, inner, 0}, offset, ++seed);
      Check({2, 30, 3000, inner, 100}, offset, ++seed);
      Check({1, 17, 6, inner, 5, 7}, offset, ++seed);
      Check({3, 40, 9, inner, 0, 2}, offset, ++seed);
    }
  }
}

// Rows that are not there are left out, and of several updates of one row the last stays; a result in the place of x
// keeps the other rows.
TEST(IndexingTest, ReplacesRows) {
  const RowIndexing indexing = {.outer = 2, .count = 5, .rows = 4, .inner = 5, .first_row = 2, .batch = 2};
  const std::vector<float> x = RandomValues(4 * 4 * 5, 1), updates = RandomValues(4 * 5 * 5, 2);
  const std::vector<int32_t> indices = {3, 9, 5, 3, 3, 2, 4, 0, 4, 2};
  std::vector<float> expected = x;
  for (int64_t o = 0; o < 4; ++o) {
    for (int64_t i = 0; i < 5; ++i) {
      const int64_t row = indices[static_cast<size_t>(o / 2 * 5 + i)] - 2;
      if (row < 0 || row >= 4) continue;
      std::copy_n(updates.begin() + (o * 5 + i) * 5, 5, expected.begin() + (o * 4 + row) * 5);
    }
  }
  const Placed<float> from(x), rows(updates), to(static_cast<int64_t>(x.size()));
  const Placed<int32_t> numbers(indices);
  Scatter(from, rows, numbers, indexing, to);
  EXPECT_EQ(to.Values(), expected);
  EXPECT_EQ(from.Values(), x);
  Scatter(from, rows, numbers, indexing, from);
  EXPECT_EQ(from.Values(), expected);
}

TEST(IndexingTest, NothingToDo) {
  Check({1, 0, 4, 3, 0}, 0, 1);
  Check({0, 5, 4, 3, 0}, 0, 2);
  Check({2, 5, 0, 3, 0}, 0, 3);
  Check({2, 5, 4, 0, 0}, 0, 4);
  Check({2, 5, 4, 3, 0, 0}, 0, 5);
  Check({2, 0, 4, 3, 0, 3}, 0, 6);
}

TEST(IndexingTest, ManyOfOneRow) {
  const std::vector<int32_t> indices(2000, 3);
  const std::vector<float> updates = RandomValues(2000 * 4, 8);
  const RowIndexing indexing = {1, 2000, 5, 4, 0};
  const Placed<float> sums(20);
  ScatterAdd(Placed<float>(updates), Placed<int32_t>(indices), indexing, sums);
  EXPECT_EQ(sums.Values(), SumsInOrder(updates, indices, indexing));
}

// The sums are those of ScatterAdd, each at the first place of its row.
TEST(IndexingTest, SumsOfEqualNumbers) {
  uint32_t seed = 0;
  for (const int64_t count : {0, 1, 7, 100, 3000}) {
    for (const int64_t inner : {1, 5, 64}) {
      SCOPED_TRACE(testing::Message() << count << " x " << inner);
      constexpr int32_t kRows = 40;
      const std::vector<int32_t> indices = RandomIndices(count, -2, kRows + 4, ++seed);
      const std::vector<float> x = RandomValues(count * inner, ++seed);
      const std::vector<float> sums = SumsInOrder(x, indices, {.count = count, .rows = kRows, .inner = inner});
      std::vector<int32_t> expected_places;
      std::vector<float> expected;
      std::set<int32_t> seen;
      for (const int32_t index : indices) {
        const bool is_first = index >= 0 && index < kRows && seen.insert(index).second;
        expected_places.push_back(is_first ? index : -1);
        for (int64_t j = 0; j < inner; ++j) {
          expected.push_back(is_first ? sums[static_cast<size_t>(index * inner + j)] : 0.0f);
        }
      }
      const Placed<int32_t> numbers(indices), places(count);
      Distinct(numbers, count, kRows, places);
      EXPECT_EQ(places.Values(), expected_places);
      const Placed<float> y(count * inner);
      SumEqual(Placed<float>(x), numbers, places, count, inner, y);
      EXPECT_EQ(y.Values(), expected);  // Equal to the last bit, because the order of the sum is given.
    }
  }
}

TEST(IndexingTest, OneHotRows) {
  const Placed<int32_t> classes({2, 0, 2, 5, -1});
  const Placed<float> hot(15);
  OneHot(classes, 5, 3, 0, hot);
  EXPECT_EQ(hot.Values(), (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  const Placed<float> part(10);
  OneHot(classes, 5, 2, 1, part);
  EXPECT_EQ(part.Values(), (std::vector<float>{0, 1, 0, 0, 0, 1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace cleave::runtime
