#include <numeric>

#include "runtime/kernels/dropout.h"
#include "runtime/kernels/initialize.h"
#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

std::vector<float> Dropped(const Stream& stream, const Region& piece, float rate, const std::vector<float>& x,
                           int64_t offset = 0) {
  const Placed<float> y(static_cast<int64_t>(x.size()), offset);
  Dropout(stream, piece, rate, Placed<float>(x, offset), y);
  return y.Values();
}

// Pieces of a 60 x 50 x 7 tensor: the whole, cut in each dimension and in all, one row, one element.
const std::vector<Region>& Pieces() {
  static const auto* const pieces =
      new std::vector<Region>{{{60, 50, 7}, {0, 0, 0}, {60, 50, 7}},   {{60, 50, 7}, {13, 0, 0}, {40, 50, 7}},
                              {{60, 50, 7}, {0, 13, 0}, {60, 20, 7}},  {{60, 50, 7}, {0, 0, 3}, {60, 50, 3}},
                              {{60, 50, 7}, {20, 13, 3}, {21, 37, 2}}, {{60, 50, 7}, {20, 13, 1}, {1, 37, 5}},
                              {{60, 50, 7}, {59, 49, 6}, {1, 1, 1}},   {{60, 50, 7}, {20, 13, 3}, {21, 0, 2}}};
  return *pieces;
}

template <typename Visit>
void ForEachPiece(const std::vector<float>& whole, Visit visit) {
  for (const Region& piece : Pieces()) {
    std::vector<float> expected(static_cast<size_t>(ElementCount(piece.size)));
    ForEachRun(piece, [&](int64_t global, int64_t local, int64_t count) {
      std::copy_n(whole.begin() + global, count, expected.begin() + local);
    });
    SCOPED_TRACE(testing::Message() << testing::PrintToString(piece.begin) << testing::PrintToString(piece.size));
    visit(piece, expected);
  }
}

TEST(Dropout, DropsByTheWordOfEachElement) {
  const Stream stream = {7, "h1.dropout", 3};
  const std::vector<float> x = RandomValues(60 * 50 * 7, 1);
  const StreamWords words(stream);
  std::vector<float> expected;
  for (size_t i = 0; i < x.size(); ++i) {
    expected.push_back(UnitFloat(words.Block(i / 4)[i % 4]) >= 0.25f ? x[i] * (1.0f / 0.75f) : 0.0f);
  }
  const auto dropped = std::count(expected.begin(), expected.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(x.size()), 0.25, 0.01);
  for (const int64_t offset : {0, 1}) EXPECT_EQ(Dropped(stream, WholeRegion({60, 50, 7}), 0.25f, x, offset), expected);

  const std::vector<float> whole = Dropped(stream, WholeRegion({60, 50, 7}), 0.25f, std::vector<float>(x.size(), 2.0f));
  ForEachPiece(whole, [&](const Region& piece, const std::vector<float>& part) {
    EXPECT_EQ(Dropped(stream, piece, 0.25f, std::vector<float>(part.size(), 2.0f)), part);
  });
  EXPECT_EQ(Dropped(stream, WholeRegion({}), 0.0f, {2.0f}), std::vector<float>{2.0f});
}

TEST(Dropout, ReadsTheStepWhereItStands) {
  const std::vector<float> x = RandomValues(1000, 4);
  const auto at = [&](const Scalar<uint64_t>& step) {
    return Dropped({1, "h1.dropout", step}, WholeRegion({1000}), 0.5f, x);
  };
  const DeviceVector<uint64_t> step({uint64_t{5} << 33});
  EXPECT_EQ(at(step.get()), at(uint64_t{5} << 33));
  EXPECT_NE(at(step.get()), at(uint64_t{6}));
  const DeviceVector<uint64_t> testing_step({uint64_t{0}});
  EXPECT_EQ(at(testing_step.get()), x);
  EXPECT_EQ(at(0), x);
}

TEST(Initialize, UniformNumbersAreThoseOfTheHost) {
  std::vector<float> whole(60 * 50 * 7);
  FillUniform({7, "w"}, WholeRegion({60, 50, 7}), -0.3f, 0.7f, whole.data());
  ForEachPiece(whole, [&](const Region& piece, const std::vector<float>& expected) {
    const Placed<float> y(static_cast<int64_t>(expected.size()));
    InitializeUniform({7, "w"}, piece, -0.3f, 0.7f, y);
    EXPECT_EQ(y.Values(), expected);
  });
}

TEST(Initialize, NumbersOf16BitsAreThoseRounded) {
  std::vector<float> whole(60 * 50 * 7);
  FillUniform({7, "w"}, WholeRegion({60, 50, 7}), -0.3f, 0.7f, whole.data());
  ForEachPiece(whole, [&](const Region& piece, const std::vector<float>& expected) {
    const DeviceVector<BFloat16> y(static_cast<int64_t>(expected.size()));
    InitializeUniform({7, "w"}, piece, -0.3f, 0.7f, y.get());
    const std::vector<BFloat16> values = y.Values();
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(values[i].bits, BFloat16(expected[i]).bits) << i;
  });
}

TEST(Initialize, NormalNumbersAreThoseOfTheHost) {
  std::vector<float> whole(60 * 50 * 7);
  FillNormal({7, "w"}, WholeRegion({60, 50, 7}), 1.0f, 2.0f, whole.data());
  ForEachPiece(whole, [&](const Region& piece, const std::vector<float>& expected) {
    const Placed<float> y(static_cast<int64_t>(expected.size()));
    InitializeNormal({7, "w"}, piece, 1.0f, 2.0f, y);
    ExpectNear(y.Values(), std::vector<double>(expected.begin(), expected.end()), 1e-7);
  });
}

}  // namespace
}  // namespace cleave::runtime
