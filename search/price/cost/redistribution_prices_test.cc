#include "search/price/cost/redistribution_prices.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/program/redistribute/sampling.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"
#include "ir/testing/seed.h"
#include "search/model/cluster/machines.h"
#include "search/model/cluster/presets.h"
#include "search/price/cost/time.h"
#include "search/price/cost/time_prices.h"

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

bool Uses(const ir::Layout& layout, ir::AxisId axis) {
  const auto has = [&](const ir::AxisList& axes) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  return has(layout.PartialAxes()) || std::any_of(layout.dimensions.begin(), layout.dimensions.end(), has);
}

// In seconds, whatever the cluster, the shape and the layouts: from one layout to another by way of a third one, which
// uses no other axes. Prices are those of the way that the program takes.
TEST(RedistributionPricesTest, NoDetourIsFaster) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(ir::TestSeed()));
  const std::vector<std::string> presets = PresetNames();
  int detours = 0;
  for (int problem = 0; problem < 1000; ++problem) {
    const std::string& preset = presets[random() % presets.size()];
    const int64_t devices[] = {2, 4, 6, 8};
    const std::optional<Cluster> cluster = ClusterOf(*FindPreset(preset), devices[random() % 4]);
    if (!cluster.has_value()) continue;  // Its hosts do not have so many devices.
    const ir::Mesh mesh = MeshOfCluster(*cluster);
    const size_t rank = 1 + random() % 3;
    ir::TensorType type{.dtype = random() % 2 == 0 ? ir::DType::kF32 : ir::DType::kBf16, .shape = {}};
    const bool is_even = random() % 2 == 0;
    for (size_t d = 0; d < rank; ++d) {
      type.shape.push_back(is_even ? mesh.rank_count() << random() % 9 : 1 + static_cast<int64_t>(random() % 3000));
    }
    const Prices seconds{.redistribution = SecondsOfRedistributions(*cluster, mesh),
                         .collective = SecondsOfCollectives(*cluster, mesh)};
    RedistributionPrices prices(mesh, std::nullopt, {}, seconds);
    ir::RedistributionPlanner program(mesh, seconds.collective);
    std::vector<ir::Layout> layouts;
    for (int i = 0; i < 3; ++i) layouts.push_back(ir::RandomLayout(mesh, rank, true, random));
    const auto price = [&](size_t from, size_t to) {
      return prices.Price(prices.Intern(type), prices.Intern(layouts[from]), prices.Intern(layouts[to]));
    };
    const std::optional<Cost> direct = price(0, 2), first = price(0, 1), second = price(1, 2);
    const auto text = [&](size_t i) { return ir::LayoutText(layouts[i], mesh); };
    if (direct.has_value()) {
      const ir::Redistribution way = *program.Plan(type, layouts[0], layouts[2]);
      EXPECT_NEAR(direct->price, RedistributionSeconds(*cluster, mesh, type, layouts[0], way).value(),
                  1e-9 * direct->price)
          << preset << " " << type.ToString() << " " << text(0) << " to " << text(2);
    }
    const ir::AxisList axes = mesh.AxisIds();
    const bool has_other_axes = std::any_of(axes.begin(), axes.end(), [&](ir::AxisId axis) {
      return Uses(layouts[1], axis) && !Uses(layouts[0], axis) && !Uses(layouts[2], axis);
    });
    if (has_other_axes || !direct.has_value() || !first.has_value() || !second.has_value()) continue;
    ++detours;
    EXPECT_LE(direct->price, (first->price + second->price) * (1 + 1e-9))
        << preset << " " << type.ToString() << " " << text(0) << " to " << text(2) << " by way of " << text(1);
  }
  EXPECT_GT(detours, 20);
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
