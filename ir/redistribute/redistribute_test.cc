#include "ir/redistribute/redistribute.h"

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/layout/layout.h"
#include "ir/mesh/mesh.h"

namespace cleave {
namespace {

Mesh MeshOf(std::vector<int64_t> sizes, std::vector<double> weights = {}) {
  std::vector<MeshAxis> axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    axes.push_back({.name = "m" + std::to_string(i), .size = sizes[i], .weight = weights.empty() ? 1 : weights[i]});
  }
  return *Mesh::Create(axes);
}

Layout LayoutOf(absl::string_view text, const Mesh& mesh) {
  absl::StatusOr<Layout> layout = ParseLayout(text, mesh);
  EXPECT_TRUE(layout.ok()) << text << ": " << layout.status();
  return *layout;
}

std::string MoveText(const Move& move, const Mesh& mesh) {
  const std::string what = move.collective.has_value() ? std::string(CollectiveKindName(*move.collective)) : "slice";
  return what + " " + LayoutText(move.result, mesh);
}

// "all_gather [-]; slice [m1]"
std::string PathText(const Mesh& mesh, const Shape& shape, absl::string_view source, absl::string_view target) {
  const TensorType type{DType::kF32, shape};
  const auto plan = PlanRedistribution(mesh, type, LayoutOf(source, mesh), LayoutOf(target, mesh));
  if (!plan.ok()) return std::string(plan.status().message());
  std::string text;
  for (const Move& move : plan->moves) text += (text.empty() ? "" : "; ") + MoveText(move, mesh);
  return text;
}

double CostOf(const Mesh& mesh, const Shape& shape, absl::string_view source, absl::string_view target) {
  return PlanRedistribution(mesh, {DType::kF32, shape}, LayoutOf(source, mesh), LayoutOf(target, mesh))->cost;
}

// Every layout of a tensor of `rank` dimensions over `axes`; partial ones too, by `reduction`.
std::vector<Layout> AllLayouts(const Mesh& mesh, const std::vector<AxisId>& axes, int rank, bool partial,
                               Reduction reduction = Reduction::kSum) {
  std::vector<Layout> layouts = {Layout::Replicated(rank)};
  std::set<Layout> seen(layouts.begin(), layouts.end());
  const auto add = [&](Layout layout) {
    if (VerifyLayout(layout, mesh, rank).ok() && seen.insert(layout).second) layouts.push_back(std::move(layout));
  };
  for (size_t i = 0; i < layouts.size(); ++i) {
    for (AxisId axis : axes) {
      for (int d = 0; d < rank; ++d) {
        Layout next = layouts[i];
        next.dimensions[static_cast<size_t>(d)].push_back(axis);
        add(std::move(next));
      }
      if (!partial) continue;
      Layout next = layouts[i];
      next.partial.push_back({axis, reduction});
      add(std::move(next));
    }
  }
  return layouts;
}

std::set<AxisId> UsedAxes(const Layout& layout) {
  std::set<AxisId> used;
  for (const auto& axes : layout.dimensions) used.insert(axes.begin(), axes.end());
  for (const PartialAxis& entry : layout.partial) used.insert(entry.axis);
  return used;
}

// ---- Exhaustive search: every move between every two layouts, written down without regard to speed ----

class Exhaustive {
 public:
  Exhaustive(const Mesh& mesh, const TensorType& type, std::vector<AxisId> axes, Reduction reduction)
      : mesh_(mesh),
        type_(type),
        axes_(std::move(axes)),
        layouts_(AllLayouts(mesh, axes_, type.rank(), true, reduction)) {}

  // The least cost from `source` to each layout.
  std::map<Layout, double> Distances(const Layout& source) {
    std::map<Layout, double> distances = {{source, 0}};
    std::set<std::pair<double, Layout>> queue = {{0, source}};
    while (!queue.empty()) {
      const auto [cost, layout] = *queue.begin();
      queue.erase(queue.begin());
      for (const Move& move : MovesFrom(layout)) {
        const double next = cost + MoveCost(mesh_, type_, layout, move);
        const auto found = distances.find(move.result);
        if (found != distances.end() && found->second <= next) continue;
        if (found != distances.end()) queue.erase({found->second, move.result});
        distances[move.result] = next;
        queue.insert({next, move.result});
      }
    }
    return distances;
  }

 private:
  std::vector<Move> MovesFrom(const Layout& layout) const {
    std::vector<Move> moves;
    const size_t rank = layout.dimensions.size();
    const std::set<AxisId> used = UsedAxes(layout);
    for (size_t d = 0; d < rank; ++d) {
      for (AxisId axis : axes_) {
        if (used.count(axis) > 0) continue;
        Move slice{.collective = std::nullopt, .axes = {axis}, .result = layout};
        slice.result.dimensions[d].push_back(axis);
        moves.push_back(slice);
      }
      for (size_t keep = 0; keep < layout.dimensions[d].size(); ++keep) {
        Move gather{.collective = CollectiveKind::kAllGather, .axes = {}, .result = layout};
        gather.axes.assign(layout.dimensions[d].begin() + static_cast<int64_t>(keep), layout.dimensions[d].end());
        gather.result.dimensions[d].resize(keep);
        moves.push_back(gather);
        for (size_t to = 0; to < rank; ++to) {
          if (to == d) continue;
          Move exchange = gather;
          exchange.collective = CollectiveKind::kAllToAll;
          for (AxisId axis : exchange.axes) exchange.result.dimensions[to].push_back(axis);
          moves.push_back(exchange);
        }
      }
    }
    std::vector<AxisId> chosen;
    AddReductions(layout, chosen, moves);
    for (const Layout& other : layouts_) {
      if (other == layout || other.partial != layout.partial || CutCounts(other, mesh_) != CutCounts(layout, mesh_))
        continue;
      Move permute{.collective = CollectiveKind::kPermute, .axes = {}, .result = other};
      for (AxisId axis : axes_) {
        for (size_t d = 0; d < rank; ++d) {
          const auto place = [&](const Layout& where) {
            const auto& axes = where.dimensions[d];
            const auto it = std::find(axes.begin(), axes.end(), axis);
            return it == axes.end() ? -1 : it - axes.begin();
          };
          if (place(layout) != place(other)) {
            permute.axes.push_back(axis);
            break;
          }
        }
      }
      moves.push_back(permute);
    }
    return moves;
  }

  void AddReductions(const Layout& layout, std::vector<AxisId>& chosen, std::vector<Move>& moves) const {
    for (const PartialAxis& entry : layout.partial) {
      if (std::find(chosen.begin(), chosen.end(), entry.axis) != chosen.end()) continue;
      chosen.push_back(entry.axis);
      Move reduce{
          .collective = CollectiveKind::kAllReduce, .axes = chosen, .reduction = entry.reduction, .result = layout};
      auto& partial = reduce.result.partial;
      partial.erase(std::remove_if(partial.begin(), partial.end(),
                                   [&](const PartialAxis& other) {
                                     return std::find(chosen.begin(), chosen.end(), other.axis) != chosen.end();
                                   }),
                    partial.end());
      moves.push_back(reduce);
      for (size_t d = 0; d < layout.dimensions.size(); ++d) {
        Move scatter = reduce;
        scatter.collective = CollectiveKind::kReduceScatter;
        for (AxisId axis : chosen) scatter.result.dimensions[d].push_back(axis);
        moves.push_back(scatter);
      }
      AddReductions(layout, chosen, moves);
      chosen.pop_back();
    }
  }

  const Mesh& mesh_;
  TensorType type_;
  std::vector<AxisId> axes_;
  std::vector<Layout> layouts_;
};

void ExpectCheapest(const Mesh& mesh, const Shape& shape, Reduction reduction = Reduction::kSum) {
  const TensorType type{DType::kF32, shape};
  const std::vector<Layout> layouts = AllLayouts(mesh, mesh.AxisIds(), type.rank(), true, reduction);
  for (const Layout& source : layouts) {
    std::map<std::vector<AxisId>, std::map<Layout, double>> distances;  // By the axes that may be used.
    for (const Layout& target : layouts) {
      const auto plan = PlanRedistribution(mesh, type, source, target);
      std::set<AxisId> used = UsedAxes(source);
      used.merge(UsedAxes(target));
      const std::vector<AxisId> axes(used.begin(), used.end());
      if (distances.count(axes) == 0) distances[axes] = Exhaustive(mesh, type, axes, reduction).Distances(source);
      const auto best = distances[axes].find(target);
      ASSERT_EQ(plan.ok(), best != distances[axes].end())
          << LayoutText(source, mesh) << " -> " << LayoutText(target, mesh);
      if (!plan.ok()) continue;
      ASSERT_NEAR(plan->cost, best->second, 1e-6)
          << ShapeText(shape) << " " << LayoutText(source, mesh) << " -> " << LayoutText(target, mesh);
    }
  }
}

TEST(RedistributeTest, CheapestOnEightRanks) { ExpectCheapest(MeshOf({2, 2, 2}), {8, 16}); }
TEST(RedistributeTest, CheapestWithUnevenSizes) { ExpectCheapest(MeshOf({2, 2, 2}), {7, 3}); }
TEST(RedistributeTest, CheapestWithSlowOuterLink) { ExpectCheapest(MeshOf({2, 2, 2}, {1, 0.1, 0.1}), {8, 8}); }
TEST(RedistributeTest, CheapestWithThreeLinks) { ExpectCheapest(MeshOf({2, 2, 2}, {1, 0.3, 0.05}), {32, 6}); }
TEST(RedistributeTest, CheapestWithUnequalAxes) { ExpectCheapest(MeshOf({3, 2}), {5, 7}); }
TEST(RedistributeTest, CheapestWithAxisOfFour) { ExpectCheapest(MeshOf({2, 4}), {16, 4}); }
TEST(RedistributeTest, CheapestInThreeDimensions) {
  ExpectCheapest(MeshOf({2, 3}, {1, 0.25}), {4, 3, 5}, Reduction::kMax);
}
TEST(RedistributeTest, CheapestInOneDimension) { ExpectCheapest(MeshOf({2, 2, 2}), {13}); }

// ---- Moving elements: what the ranks hold after every move ----

using Elements = std::map<std::vector<int64_t>, int64_t>;  // Global index -> value.

class Simulation {
 public:
  Simulation(const Mesh& mesh, const Shape& shape, const Layout& source, Reduction reduction)
      : mesh_(mesh), shape_(shape), layout_(source), reduction_(reduction) {
    for (int rank = 0; rank < mesh.rank_count(); ++rank) {
      Elements& elements = held_.emplace_back();
      const int64_t part = mesh.Index(rank, source.PartialAxes());
      const int64_t parts = mesh.Size(source.PartialAxes());
      for (const std::vector<int64_t>& index : IndexesOf(source, rank)) elements[index] = Part(index, part, parts);
    }
  }

  void Apply(const Move& move) {
    std::vector<Elements> next;
    for (int rank = 0; rank < mesh_.rank_count(); ++rank) {
      const std::vector<int> group = mesh_.Group(rank, move.axes);
      Elements gathered;
      if (!move.collective.has_value()) {
        gathered = held_[static_cast<size_t>(rank)];
      } else if (*move.collective == CollectiveKind::kAllReduce || *move.collective == CollectiveKind::kReduceScatter) {
        ASSERT_EQ(move.reduction, reduction_);
        for (int member : group) {
          ASSERT_EQ(held_[static_cast<size_t>(member)].size(), held_[static_cast<size_t>(rank)].size());
          for (const auto& [index, value] : held_[static_cast<size_t>(member)]) {
            const auto [found, is_new] = gathered.try_emplace(index, value);
            if (!is_new)
              found->second = reduction_ == Reduction::kSum ? found->second + value : std::max(found->second, value);
          }
        }
      } else {
        if (move.from_dimension >= 0) ExpectConsecutive(group, static_cast<size_t>(move.from_dimension));
        for (int member : group)
          gathered.insert(held_[static_cast<size_t>(member)].begin(), held_[static_cast<size_t>(member)].end());
      }
      Elements& kept = next.emplace_back();
      for (const std::vector<int64_t>& index : IndexesOf(move.result, rank)) {
        ASSERT_EQ(gathered.count(index), 1u)
            << "rank " << rank << " cannot get what " << LayoutText(move.result, mesh_) << " asks for";
        kept[index] = gathered[index];
      }
      // What gathers and reduces keep everything they get.
      if (move.collective == CollectiveKind::kAllReduce || move.collective == CollectiveKind::kAllGather) {
        ASSERT_EQ(kept.size(), gathered.size());
      }
    }
    held_ = std::move(next);
    layout_ = move.result;
  }

  // Every rank holds its slice of the tensor, or its part of it.
  void ExpectCorrect() const {
    for (int rank = 0; rank < mesh_.rank_count(); ++rank) {
      for (const auto& [index, value] : held_[static_cast<size_t>(rank)]) {
        int64_t whole = value;
        for (int member : mesh_.Group(rank, layout_.PartialAxes())) {
          if (member == rank) continue;
          const int64_t part = held_[static_cast<size_t>(member)].at(index);
          whole = reduction_ == Reduction::kSum ? whole + part : std::max(whole, part);
        }
        ASSERT_EQ(whole, Value(index)) << "rank " << rank;
      }
    }
  }

  const Layout& layout() const { return layout_; }

 private:
  int64_t Value(const std::vector<int64_t>& index) const {
    int64_t value = 17;
    for (size_t d = 0; d < index.size(); ++d) value = value * 1009 + index[d];
    return value;
  }

  // Parts that make up the value: for a sum one of them has the rest, for a maximum one of them has it all.
  int64_t Part(const std::vector<int64_t>& index, int64_t part, int64_t parts) const {
    const int64_t value = Value(index);
    if (reduction_ == Reduction::kSum)
      return part + 1 < parts ? part + 3 : value - (parts - 1) * 3 - (parts - 1) * (parts - 2) / 2;
    return part == value % parts ? value : value - 1 - part;
  }

  std::vector<std::vector<int64_t>> IndexesOf(const Layout& layout, int rank) const {
    std::vector<std::vector<int64_t>> indexes = {{}};
    for (const Piece& piece : SliceOf(layout, mesh_, shape_, rank)) {
      std::vector<std::vector<int64_t>> longer;
      for (const std::vector<int64_t>& index : indexes) {
        for (int64_t i = 0; i < piece.size; ++i) {
          longer.push_back(index);
          longer.back().push_back(piece.begin + i);
        }
      }
      indexes = std::move(longer);
    }
    return indexes;
  }

  // The members' pieces lie one after another in the order in which the group numbers its members.
  void ExpectConsecutive(const std::vector<int>& group, size_t dimension) const {
    int64_t next = SliceOf(layout_, mesh_, shape_, group.front())[dimension].begin;
    for (int member : group) {
      const Piece piece = SliceOf(layout_, mesh_, shape_, member)[dimension];
      ASSERT_EQ(piece.begin, next);
      next += piece.size;
    }
  }

  const Mesh& mesh_;
  Shape shape_;
  Layout layout_;
  Reduction reduction_;
  std::vector<Elements> held_;
};

void ExpectCorrectPaths(const Mesh& mesh, const Shape& shape, Reduction reduction, size_t every = 1) {
  const TensorType type{DType::kF32, shape};
  const std::vector<Layout> layouts = AllLayouts(mesh, mesh.AxisIds(), type.rank(), true, reduction);
  size_t pair = 0;
  for (const Layout& source : layouts) {
    for (const Layout& target : layouts) {
      if (pair++ % every != 0) continue;
      const auto plan = PlanRedistribution(mesh, type, source, target);
      if (!plan.ok()) continue;
      SCOPED_TRACE(LayoutText(source, mesh) + " -> " + LayoutText(target, mesh));
      Simulation simulation(mesh, shape, source, reduction);
      double cost = 0;
      Layout before = source;
      for (const Move& move : plan->moves) {
        cost += MoveCost(mesh, type, before, move);
        before = move.result;
        simulation.Apply(move);
        if (testing::Test::HasFatalFailure()) return;
      }
      ASSERT_EQ(simulation.layout(), target);
      ASSERT_NEAR(cost, plan->cost, 1e-9);
      simulation.ExpectCorrect();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(RedistributeTest, MovesTheRightElements) { ExpectCorrectPaths(MeshOf({2, 2, 2}), {8, 8}, Reduction::kSum); }
TEST(RedistributeTest, MovesTheRightUnevenElements) { ExpectCorrectPaths(MeshOf({2, 3}), {5, 7}, Reduction::kMax); }
TEST(RedistributeTest, MovesTheRightElementsWhereRanksAreEmpty) {
  ExpectCorrectPaths(MeshOf({3, 2}), {2, 3}, Reduction::kSum);
}
TEST(RedistributeTest, MovesTheRightElementsOnSixteenRanks) {
  ExpectCorrectPaths(MeshOf({2, 2, 2, 2}, {1, 1, 0.1, 0.1}), {5, 6}, Reduction::kSum, 1009);
}
TEST(RedistributeTest, MovesTheRightElementsOnManyAxes) {
  const Mesh mesh = Mesh::OfDevices(64);
  constexpr uint32_t kSeed = 3;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const TensorType type{DType::kF32, {9, 10}};
  for (int round = 0; round < 60; ++round) {
    const auto draw = [&](bool partial) {
      std::vector<AxisId> axes = mesh.AxisIds();
      std::shuffle(axes.begin(), axes.end(), random);
      Layout layout = Layout::Replicated(2);
      for (AxisId axis : axes) {
        const size_t where = random() % 4;
        if (where < 2) layout.dimensions[where].push_back(axis);
        if (where == 2 && partial) layout.partial.push_back({axis, Reduction::kSum});
      }
      std::sort(layout.partial.begin(), layout.partial.end(),
                [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; });
      return layout;
    };
    const Layout source = draw(true);
    const Layout target = draw(false);
    SCOPED_TRACE(LayoutText(source, mesh) + " -> " + LayoutText(target, mesh));
    const auto plan = PlanRedistribution(mesh, type, source, target);
    ASSERT_TRUE(plan.ok()) << plan.status();
    Simulation simulation(mesh, type.shape, source, Reduction::kSum);
    for (const Move& move : plan->moves) simulation.Apply(move);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(simulation.layout(), target);
    simulation.ExpectCorrect();
  }
}

// ---- Known answers ----

TEST(RedistributeTest, CollectiveCountsOfDTensor) {
  const Mesh mesh = MeshOf({4});
  for (int64_t elements : {12, 13, 14}) {
    EXPECT_EQ(PathText(mesh, {elements}, "[m0]", "[-]"), "all_gather [-]");
    EXPECT_EQ(PathText(mesh, {elements}, "[-]", "[m0]"), "slice [m0]");
    EXPECT_EQ(PathText(mesh, {elements}, "[-]", "[-]"), "");
    EXPECT_EQ(PathText(mesh, {elements}, "[-] partial(m0: sum)", "[-]"), "all_reduce [-]");
    EXPECT_EQ(PathText(mesh, {elements}, "[-] partial(m0: sum)", "[m0]"), "reduce_scatter [m0]");
  }
}

TEST(RedistributeTest, KnownPaths) {
  const Mesh cube = MeshOf({2, 2, 2});
  EXPECT_EQ(PathText(MeshOf({16}), {16, 16}, "[m0, -]", "[-, m0]"), "all_to_all [-, m0]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[m0 m1 m2, -]", "[-, m0 m1 m2]"), "all_to_all [-, m0 m1 m2]");
  EXPECT_EQ(PathText(cube, {4, 4, 4}, "[m0, m1, -]", "[-, m1, m0]"), "all_to_all [-, m1, m0]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[m0, m1]", "[m1, m0]"), "permute [m1, m0]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[m0 m1 m2, -]", "[m0, m1 m2]"), "all_to_all [m0, m1 m2]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[-, -] partial(m0: sum, m1: sum, m2: sum)", "[-, -]"), "all_reduce [-, -]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[m0, -] partial(m1: sum, m2: sum)", "[m0, m1 m2]"), "reduce_scatter [m0, m1 m2]");
  EXPECT_EQ(PathText(cube, {16, 16}, "[-, -]", "[m0 m1, m2]"), "slice [m0 m1, m2]");
}

TEST(RedistributeTest, CannotMakePartial) {
  const Mesh mesh = MeshOf({2, 2});
  EXPECT_EQ(PathText(mesh, {4}, "[-]", "[-] partial(m0: sum)"),
            "a tensor that lies as [-] cannot be made partial over `m0` (sum)");
  EXPECT_EQ(PathText(mesh, {4}, "[-] partial(m0: max)", "[-] partial(m0: sum)"),
            "a tensor that lies as [-] partial(m0: max) cannot be made partial over `m0` (sum)");
  EXPECT_EQ(PathText(mesh, {4}, "[m1] partial(m0: sum)", "[-] partial(m0: sum)"), "all_gather [-] partial(m0: sum)");
}

TEST(RedistributeTest, PricesInClosedForm) {
  const Mesh four = MeshOf({4});
  EXPECT_DOUBLE_EQ(CostOf(four, {256, 32}, "[-, -] partial(m0: sum)", "[-, -]"), 2 * 0.75 * 32768);
  EXPECT_DOUBLE_EQ(CostOf(four, {256, 32}, "[-, -] partial(m0: sum)", "[m0, -]"), 0.75 * 32768);
  EXPECT_DOUBLE_EQ(CostOf(four, {256, 32}, "[m0, -]", "[-, -]"), 0.75 * 32768);
  EXPECT_DOUBLE_EQ(CostOf(four, {256, 32}, "[m0, -]", "[-, m0]"), 0.75 * 8192);
  EXPECT_DOUBLE_EQ(CostOf(four, {13}, "[m0]", "[-]"), 0.75 * 52);
  // Two hosts of two: inside a host on the whole, between the hosts on half.
  const Mesh hosts = MeshOf({2, 2}, {1, 0.1});
  EXPECT_DOUBLE_EQ(CostOf(hosts, {32, 32}, "[-, -] partial(m0: sum, m1: sum)", "[-, -]"), 4096 * 0.1 + 2048);
  EXPECT_EQ(PathText(hosts, {32, 32}, "[-, -] partial(m0: sum, m1: sum)", "[-, -]"), "all_reduce [-, -]");
}

}  // namespace
}  // namespace cleave
