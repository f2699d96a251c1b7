#include "base/strong_id/strong_id.h"

#include <type_traits>

#include "gtest/gtest.h"

namespace cleave {
namespace {

using OpId = StrongId<struct OpTag>;
using AxisId = StrongId<struct AxisTag>;

static_assert(!std::is_convertible_v<OpId, AxisId>);
static_assert(!std::is_convertible_v<int, OpId>);

TEST(StrongIdTest, OrdersByValue) {
  EXPECT_LT(OpId(1), OpId(2));
  EXPECT_EQ(OpId(2), OpId(2));
  EXPECT_EQ(OpId(), OpId(0));
}

TEST(IdVectorTest, PushBackReturnsTheIdOfTheItem) {
  IdVector<OpId, int> items;
  const OpId first = items.push_back(10);
  const OpId second = items.push_back(20);
  EXPECT_EQ(items[first], 10);
  EXPECT_EQ(items[second], 20);
  EXPECT_TRUE(items.contains(second));
  EXPECT_FALSE(items.contains(OpId(2)));
}

}  // namespace
}  // namespace cleave
