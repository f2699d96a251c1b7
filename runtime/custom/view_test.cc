#include "runtime/custom/view.h"

#include "gtest/gtest.h"

// As in the header of a body: outside of every namespace, with or without a using-declaration.
inline int64_t ElementsOfBody(View<const float> x) { return x.size(); }

using cleave::runtime::View;

inline int64_t ElementsOfBodyWithUsing(View<const float> x) { return x.size(); }

namespace cleave::runtime {
namespace {

TEST(ViewTest, IsVisibleInTheHeadersOfBodies) {
  const float value = 3;
  const View<const float> view(&value, WholeRegion({1}));
  EXPECT_EQ(ElementsOfBody(view), 1);
  EXPECT_EQ(ElementsOfBodyWithUsing(view), 1);
}

TEST(ViewTest, KnowsItsPieceAndItsPlace) {
  float values[6] = {0, 1, 2, 3, 4, 5};
  const View<float> view(values, Region{{8, 3}, {4, 0}, {2, 3}});
  EXPECT_EQ(view.size(), 6);
  EXPECT_EQ(view.dimension(0), 2);
  EXPECT_EQ(view.begin, (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(view.whole, (std::vector<int64_t>{8, 3}));
  view[5] = 7;
  EXPECT_EQ(values[5], 7);
}

TEST(ViewTest, ScalarsAndEmptyPieces) {
  const float value = 3;
  EXPECT_EQ(View<const float>(&value, WholeRegion({})).size(), 1);
  EXPECT_EQ(View<const float>(&value, Region{{2, 3}, {0, 0}, {0, 3}}).size(), 0);
}

}  // namespace
}  // namespace cleave::runtime
