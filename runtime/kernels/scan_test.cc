// Compares recurrences, their gradients and their pieces with loops in double.
#include "runtime/kernels/scan.h"

#include <random>
#include <vector>

#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

using Sizes = std::vector<int64_t>;

struct Case {
  Sizes a, b;
  int axis;

  int64_t Size(const Sizes& sizes, size_t begin, size_t end) const {
    int64_t count = 1;
    for (size_t d = begin; d < end; ++d) count *= sizes[d];
    return count;
  }
  int64_t inner() const { return Size(b, static_cast<size_t>(axis) + 1, b.size()); }
  int64_t length() const { return b[static_cast<size_t>(axis)]; }
  int64_t count() const { return Size(b, 0, b.size()); }
  int64_t count_of_a() const { return Size(a, 0, a.size()); }
  // Where the factor of element `i` is.
  size_t FactorOf(int64_t i) const {
    int64_t at = 0, stride = 1;
    for (size_t d = b.size(); d-- > 0; i /= b[d]) {
      const size_t missing = b.size() - a.size();
      if (d < missing || a[d - missing] == 1) continue;
      at += i % b[d] * stride;
      stride *= a[d - missing];
    }
    return static_cast<size_t>(at);
  }
};

const Case kCases[] = {{{7}, {7}, 0},
                       {{3, 100}, {3, 100}, 1},
                       {{300, 3}, {300, 3}, 0},
                       {{2, 70, 600}, {2, 70, 600}, 1},
                       {{2, 70, 3, 1}, {2, 70, 3, 5}, 1},
                       {{70, 1, 5}, {2, 70, 3, 5}, 1},
                       {{3, 1}, {2, 4, 3, 5}, 0},
                       {{2, 1, 3}, {2, 200, 3}, 1},
                       {{}, {9, 4}, 1}};

// For each element of b in the order of the recurrence: visit(its number, its factor, the number of the one before or
// -1 where `begins` is true of its place).
template <typename Visit>
void ForEach(const Case& item, const std::vector<float>& a, bool reverse, Visit visit) {
  for (int64_t n = 0; n < item.count(); ++n) {
    const int64_t i = reverse ? item.count() - 1 - n : n;
    const int64_t place = i / item.inner() % item.length();
    const bool is_first = place == (reverse ? item.length() - 1 : 0);
    visit(static_cast<size_t>(i), a[item.FactorOf(i)], is_first ? -1 : reverse ? i + item.inner() : i - item.inner());
  }
}

std::vector<double> States(const Case& item, const std::vector<float>& a, const std::vector<float>& b, bool reverse) {
  std::vector<double> h(b.size());
  ForEach(item, a, reverse, [&](size_t i, double factor, int64_t before) {
    h[i] = b[i] + (before < 0 ? 0 : factor * h[static_cast<size_t>(before)]);
  });
  return h;
}

TEST(ScanTest, StatesAndGradientsInBothDirections) {
  uint32_t seed = 0;
  for (const Case& item : kCases) {
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(testing::Message() << testing::PrintToString(item.b) << " along " << item.axis);
      const std::vector<float> a = RandomValues(item.count_of_a(), ++seed), b = RandomValues(item.count(), ++seed),
                               g = RandomValues(item.count(), ++seed);
      const std::vector<double> h = States(item, a, b, reverse);
      std::vector<double> da(h.size()), db(h.size());
      ForEach(item, a, reverse, [&](size_t i, double factor, int64_t before) {
        const auto other = static_cast<size_t>(before);
        da[i] = before < 0 ? 0 : g[i] * h[other];
        db[i] = g[i] + (before < 0 ? 0 : a[item.FactorOf(before)] * db[other]);
        (void)factor;
      });
      const Placed<float> of_a(a), of_b(b), of_g(g), y(item.count());
      Scan(of_a, item.a, of_b, item.b, item.axis, reverse, y);
      ExpectNear(y.Values(), h, 1e-5);
      ScanGradientA(of_a, item.a, of_b, item.b, of_g, item.axis, reverse, y);
      ExpectNear(y.Values(), da, 1e-5);
      ScanGradientB(of_a, item.a, of_g, item.b, item.axis, reverse, y);
      ExpectNear(y.Values(), db, 1e-5);
    }
  }
  const Placed<float> nothing(int64_t{0});
  Scan(nothing, {3, 0}, nothing, {3, 0}, 0, false, nothing);
}

// The state is not rounded, only what is read and written.
TEST(ScanTest, SixteenBits) {
  const Case item = {{2, 50, 3}, {2, 50, 3}, 1};
  std::vector<BFloat16> narrow_a, narrow_b;
  std::vector<float> a, b;
  for (const float x : RandomValues(item.count(), 1)) a.push_back(narrow_a.emplace_back(x));
  for (const float x : RandomValues(item.count(), 2)) b.push_back(narrow_b.emplace_back(x));
  const Placed<BFloat16> of_a(narrow_a), of_b(narrow_b), y(item.count());
  Scan(of_a, item.a, of_b, item.b, item.axis, false, y);
  std::vector<float> values;
  for (const BFloat16 x : y.Values()) values.push_back(x);
  ExpectNear(values, States(item, a, b, false), 0.004);
}

// A dimension of 10 or 3 elements in 4 pieces, of which a rank has the second and the third.
TEST(ScanTest, PiecesMakeTheWhole) {
  uint32_t seed = 100;
  for (const int64_t length : {10, 3}) {
    for (const bool reverse : {false, true}) {
      const Case whole = {{2, length, 1}, {2, length, 3}, 1};
      const std::vector<float> a = RandomValues(whole.count_of_a(), ++seed), b = RandomValues(whole.count(), ++seed);
      const std::vector<double> h = States(whole, a, b, reverse);
      const PiecesOfRow all = {length, 4, 0, 4};
      const Placed<float> of_a(a), of_b(b), products(2 * 4), ends(2 * 4 * 3), states(whole.count());
      ScanProducts(of_a, whole.a, 1, all, products);
      ScanEnds(of_a, whole.a, of_b, whole.b, 1, reverse, all, ends);
      const Placed<float> carried(2 * 4 * 3);
      Scan(products, {2, 4, 1}, ends, {2, 4, 3}, 1, reverse, carried);

      const PiecesOfRow own = {length, 4, 1, 2};
      const int64_t begin = length / 4, end = 3 * length / 4, row = (length + 3) / 4;
      std::vector<float> own_a, own_b;
      std::vector<double> own_h, own_before;
      for (int64_t i = 0; i < whole.count(); ++i) {
        const int64_t place = i / 3 % length;
        if (place < begin || place >= end) continue;
        if (i % 3 == 0) own_a.push_back(a[whole.FactorOf(i)]);
        own_b.push_back(b[static_cast<size_t>(i)]);
        own_h.push_back(h[static_cast<size_t>(i)]);
        const int64_t before = place + (reverse ? 1 : -1);
        own_before.push_back(before < 0 || before == length ? 0 : h[static_cast<size_t>(i + (reverse ? 3 : -3))]);
      }
      const Sizes a_sizes = {2, end - begin, 1}, sizes = {2, end - begin, 3};
      const Placed<float> of_own_a(own_a), of_own_b(own_b), rows(2 * 2 * row * 3), y(2 * (end - begin) * 3);
      ScanPieces(of_own_a, a_sizes, of_own_b, sizes, carried, 1, reverse, own, rows);
      JoinPieces(rows, sizes, 1, own, begin, y);
      ExpectNear(y.Values(), own_h, 1e-5);
      ScanPiecesBefore(of_own_a, a_sizes, of_own_b, sizes, carried, 1, reverse, own, rows);
      JoinPieces(rows, sizes, 1, own, begin, y);
      ExpectNear(y.Values(), own_before, 1e-5);
    }
  }
}

}  // namespace
}  // namespace cleave::runtime
