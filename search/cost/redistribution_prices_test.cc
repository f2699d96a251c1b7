#include "search/cost/redistribution_prices.h"

#include "gtest/gtest.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"

namespace cleave::search {
namespace {

// Of the same layouts and shape, a type of half the bytes costs half, whichever is asked for first.
TEST(RedistributionPricesTest, FollowTheSizeOfAnElement) {
  const ir::Mesh mesh = ir::Mesh::OfDevices(4);
  for (const int64_t size : {64, 7}) {  // Cut evenly, and unevenly.
    RedistributionPrices prices(mesh);
    const LayoutIndex source = prices.Intern(*ir::ParseLayout("[m0, m1]", mesh));
    const LayoutIndex target = prices.Intern(*ir::ParseLayout("[-, -]", mesh));
    const TypeIndex wide = prices.Intern({.dtype = ir::DType::kF32, .shape = {size, size}});
    const TypeIndex narrow = prices.Intern({.dtype = ir::DType::kBf16, .shape = {size, size}});
    const double price = prices.Price(wide, source, target)->price;
    EXPECT_GT(price, 0);
    EXPECT_DOUBLE_EQ(prices.Price(narrow, source, target)->price, price / 2) << size;
  }
}

}  // namespace
}  // namespace cleave::search
