#include "search/price/cost/redistribution_prices.h"

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"
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

// Parts of a sum cost what they cost in f32 where they are added up so; what is complete costs what it is.
TEST(RedistributionPricesTest, FollowTheTypeOfSums) {
  const ir::Mesh mesh = ir::Mesh::OfDevices(4);
  for (const int64_t size : {64, 7}) {
    RedistributionPrices prices(mesh, ir::DType::kF32);
    const LayoutIndex parts = prices.Intern(*ir::ParseLayout("[m0, -] partial(m1: sum)", mesh));
    const LayoutIndex cut = prices.Intern(*ir::ParseLayout("[m0, m1]", mesh));
    const LayoutIndex whole = prices.Intern(*ir::ParseLayout("[m0, -]", mesh));
    const TypeIndex wide = prices.Intern({.dtype = ir::DType::kF32, .shape = {size, size}});
    const TypeIndex narrow = prices.Intern({.dtype = ir::DType::kBf16, .shape = {size, size}});
    for (const LayoutIndex target : {cut, whole}) {
      EXPECT_DOUBLE_EQ(prices.Price(narrow, parts, target)->price, prices.Price(wide, parts, target)->price) << size;
    }
    EXPECT_DOUBLE_EQ(prices.Price(narrow, cut, whole)->price, prices.Price(wide, cut, whole)->price / 2) << size;
  }
}

// Cut evenly and unevenly, into pieces and into windows, with axes of any names: what the program's redistribution
// sends.
TEST(RedistributionPricesTest, AreThoseOfTheProgram) {
  const ir::Mesh mesh = ir::Mesh::OfDevices(8);
  const std::vector<const char*> layouts = {"[-, -]",        "[m0, -]",
                                            "[m2, m1]",      "[m1 m2, m0]",
                                            "[-, m2 m0]",    "[m2, -] partial(m0: sum)",
                                            "[m0 m1 m2, -]", "[m1 m0, -] partial(m2: sum)"};
  for (const int64_t size : {64, 13}) {
    const ir::TensorType type{.dtype = ir::DType::kF32, .shape = {size, size}};
    RedistributionPrices prices(mesh);
    for (const char* from : layouts) {
      for (const char* to : layouts) {
        const ir::Layout source = *ir::ParseLayout(from, mesh), target = *ir::ParseLayout(to, mesh);
        const absl::StatusOr<ir::Redistribution> way = ir::PlanRedistribution(mesh, type, source, target);
        const std::optional<Cost> price =
            prices.Price(prices.Intern(type), prices.Intern(source), prices.Intern(target));
        ASSERT_EQ(price.has_value(), way.ok()) << from << " to " << to;
        if (!way.ok()) continue;
        EXPECT_DOUBLE_EQ(price->price, way->cost) << size << ": " << from << " to " << to;
        EXPECT_EQ(price->collectives, way->collectives) << size << ": " << from << " to " << to;
      }
    }
  }
}

// The second reader is served from what was made for the first, a third with the same demand is free, and one whose
// demand has no weight makes nothing that others use.
TEST(ServeInOrderTest, EachReaderTakesTheCheapestTensorThatExists) {
  const std::vector<LayoutDemand> reads = {
      {.layout = 5, .weight = 0}, {.layout = 1, .weight = 1}, {.layout = 2, .weight = 0.5}, {.layout = 2, .weight = 1}};
  const std::vector<LayoutIndex> layouts = {0, 5, 1, 2, 2};
  const auto price = [&](size_t source, size_t target) -> std::optional<Cost> {
    if (layouts[target] == 1) return Cost{.price = 10, .collectives = 1};
    return layouts[source] == 1 ? Cost{.price = 2, .collectives = 1} : Cost{.price = layouts[source] == 5 ? 1.0 : 8.0};
  };
  std::vector<size_t> made;
  const Cost cost = ServeInOrder(
      reads, [&](size_t a, size_t b) { return layouts[a] == layouts[b]; }, price, made);
  EXPECT_EQ(cost, (Cost{.price = 11, .collectives = 2}));
}

TEST(RedistributionPricesTest, TypesMayBeMany) {
  const ir::Mesh mesh = ir::Mesh::OfDevices(2);
  RedistributionPrices prices(mesh);
  constexpr int kMany = (1 << 16) + 2;
  for (int i = 0; i < kMany; ++i) {
    ASSERT_EQ(prices.Intern({.dtype = ir::DType::kF32, .shape = {2, i + 1}}), i);
  }
  const LayoutIndex source = prices.Intern(*ir::ParseLayout("[m0, -]", mesh));
  const LayoutIndex target = prices.Intern(*ir::ParseLayout("[-, -]", mesh));
  // The first of them and the one whose number is the same in 16 bits.
  const double first = prices.Price(0, source, target)->price;
  EXPECT_DOUBLE_EQ(prices.Price(1 << 16, source, target)->price, first * ((1 << 16) + 1));
}

// What is sent several times costs as often, and its prices are its own.
TEST(RedistributionPricesTest, SeveralTimes) {
  const ir::Mesh mesh = ir::Mesh::OfDevices(4);
  RedistributionPrices prices(mesh);
  const LayoutIndex source = prices.Intern(*ir::ParseLayout("[m0, m1]", mesh));
  const LayoutIndex target = prices.Intern(*ir::ParseLayout("[-, -]", mesh));
  for (const int64_t size : {16, 18}) {
    const ir::TensorType type = {.dtype = ir::DType::kF32, .shape = {size, size}};
    const Cost once = *prices.Price(prices.Intern(type), source, target);
    const Cost three_times = *prices.Price(prices.Intern(type, 3), source, target);
    EXPECT_EQ(three_times.price, 3 * once.price);
    EXPECT_EQ(three_times.collectives, 3 * once.collectives);
  }
}

}  // namespace
}  // namespace cleave::search
