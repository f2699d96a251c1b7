#include "ir/redistribute/redistribute.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/layout/boxes.h"
#include "ir/layout/layout.h"
#include "ir/mesh/mesh.h"
#include "ir/redistribute/exhaustive.h"

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

void ExpectCorrectPath(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target,
                       Reduction reduction) {
  const absl::StatusOr<Redistribution> plan = PlanRedistribution(mesh, type, source, target);
  ASSERT_TRUE(plan.ok()) << plan.status();
  Simulation simulation(mesh, type.shape, source, reduction);
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
}

void ExpectCorrectPaths(const Mesh& mesh, const Shape& shape, Reduction reduction, size_t every = 1) {
  const TensorType type{DType::kF32, shape};
  const std::vector<Layout> layouts = AllLayouts(mesh, type.rank(), {reduction});
  size_t pair = 0;
  for (const Layout& source : layouts) {
    for (const Layout& target : layouts) {
      if (pair++ % every != 0 || !PlanRedistribution(mesh, type, source, target).ok()) continue;
      SCOPED_TRACE(LayoutText(source, mesh) + " -> " + LayoutText(target, mesh));
      ExpectCorrectPath(mesh, type, source, target, reduction);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Each axis cuts one of the dimensions, is partial, or replicated.
Layout RandomLayout(const Mesh& mesh, size_t rank, bool may_be_partial, std::mt19937& random) {
  std::vector<AxisId> axes = mesh.AxisIds();
  std::shuffle(axes.begin(), axes.end(), random);
  Layout layout = Layout::Replicated(static_cast<int>(rank));
  for (AxisId axis : axes) {
    const size_t place = random() % (rank + 2);
    if (place < rank) layout.dimensions[place].push_back(axis);
    if (place == rank && may_be_partial) layout.partial.push_back({axis, Reduction::kSum});
  }
  std::sort(layout.partial.begin(), layout.partial.end(),
            [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; });
  return layout;
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
  constexpr uint32_t kSeed = 3;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 80; ++round) {
    const Mesh mesh = Mesh::OfDevices(std::vector<int64_t>{24, 64, 96}[round % 3]);
    const TensorType type{DType::kF32, round % 2 == 0 ? Shape{9, 10} : Shape{8, 3, 16}};
    const Layout source = RandomLayout(mesh, type.shape.size(), true, random);
    const Layout target = RandomLayout(mesh, type.shape.size(), false, random);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round << ": " << LayoutText(source, mesh)
                                    << " -> " << LayoutText(target, mesh));
    ExpectCorrectPath(mesh, type, source, target, Reduction::kSum);
    ASSERT_FALSE(HasFatalFailure());
  }
}

// ---- Many ranks ----

// What anybody would do: reduce, gather what is wrong, slice.
double PlainCost(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target) {
  Layout now = source;
  double cost = 0;
  const auto apply = [&](Move move) {
    cost += MoveCost(mesh, type, now, move);
    now = move.result;
  };
  if (source.is_partial()) {
    Move reduce{.collective = CollectiveKind::kAllReduce, .axes = source.PartialAxes(), .result = now};
    reduce.result.partial.clear();
    apply(std::move(reduce));
  }
  for (size_t d = 0; d < now.dimensions.size(); ++d) {
    const std::vector<AxisId>& here = now.dimensions[d];
    const std::vector<AxisId>& wanted = target.dimensions[d];
    const auto wrong = std::mismatch(here.begin(), here.end(), wanted.begin(), wanted.end()).first;
    if (wrong == here.end()) continue;
    Move gather{.collective = CollectiveKind::kAllGather, .axes = {wrong, here.end()}, .result = now};
    gather.result.dimensions[d].erase(gather.result.dimensions[d].begin() + (wrong - here.begin()),
                                      gather.result.dimensions[d].end());
    apply(std::move(gather));
  }
  return cost;
}

Mesh TwoLinks(int64_t devices, double inner_weight) {
  std::vector<MeshAxis> axes = Mesh::OfDevices(devices).axes();
  for (size_t i = axes.size() / 2; i < axes.size(); ++i) axes[i].weight = inner_weight;
  return *Mesh::Create(axes);
}

// Whether some layout on the way, and not the last, is a whole copy on every rank.
bool PassesFullCopy(const Redistribution& plan, const Layout& target) {
  const Layout whole = Layout::Replicated(static_cast<int>(target.dimensions.size()));
  return target != whole && std::any_of(plan.moves.begin(), plan.moves.end(),
                                        [&](const Move& move) { return move.result == whole; });
}

TEST(RedistributeTest, ManyRanksStayBetweenTheBoundAndThePlainWay) {
  constexpr uint32_t kSeed = 4;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 300; ++round) {
    const int64_t devices = std::vector<int64_t>{64, 96, 256, 320, 1024}[random() % 5];
    const Mesh mesh = TwoLinks(devices, round % 2 == 0 ? 1 : 0.1);
    const bool is_even = round % 3 != 0;
    const TensorType type{DType::kF32, is_even ? Shape{30720, 15360, 30720} : Shape{1000, 7, 30522}};
    const Layout source = RandomLayout(mesh, 3, round % 4 < 2, random);
    const Layout target = RandomLayout(mesh, 3, false, random);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round << ": " << LayoutText(source, mesh)
                                    << " -> " << LayoutText(target, mesh));
    const absl::StatusOr<Redistribution> plan = PlanRedistribution(mesh, type, source, target);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const double tolerance = 1e-9 * plan->cost;
    EXPECT_GE(plan->cost, CostAtLeast(mesh, type, source, target) - tolerance);
    EXPECT_LE(plan->cost, PlainCost(mesh, type, source, target) + tolerance);
    EXPECT_EQ(*plan, *PlanRedistribution(mesh, type, source, target));
    double cost = 0;
    const Layout* before = &source;
    for (const Move& move : plan->moves) {
      cost += MoveCost(mesh, type, *before, move);
      before = &move.result;
    }
    EXPECT_EQ(*before, target);
    EXPECT_NEAR(cost, plan->cost, 1e-9 * cost);
    // Where all pieces are equal there is always a way that gathers no more than the target has.
    EXPECT_FALSE(is_even && PassesFullCopy(*plan, target));
  }
}

TEST(RedistributeTest, RanksThatHoldTheSameShareTheWork) {
  // A bias whose gradient is partial over eight hosts and the same on their eight ranks: each rank reduces an eighth.
  const Mesh mesh = MeshOf({8, 8}, {1, 0.1});
  EXPECT_EQ(PathText(mesh, {512}, "[-] partial(m0: sum)", "[-]"), "slice [m1] partial(m0: sum); all_reduce [m1]; all_gather [-]");
  EXPECT_DOUBLE_EQ(CostOf(mesh, {512}, "[-] partial(m0: sum)", "[-]"), 2 * 0.875 * 256 + 0.1 * 0.875 * 2048);
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

// ---- Windows ----

// A convolution of `width` along dimension `d`, padded so that the size stays.
DimensionWindow Halo(const Shape& shape, int d, int64_t width) {
  const int64_t elements = shape[static_cast<size_t>(d)];
  return {.dimension = d,
          .window = {.elements = elements, .outer = elements, .first = -(width / 2), .last = width / 2}};
}

TEST(RedistributeTest, BringsPiecesIntoWindows) {
  const Mesh mesh = MeshOf({2, 2}, {1, 0.5});
  const Shape shape = {16, 8};
  const TensorType type{DType::kF32, shape};
  Layout target = LayoutOf("[m0 m1, -]", mesh);
  target.windows = {Halo(shape, 0, 3)};
  const std::string text = LayoutText(target, mesh);
  EXPECT_EQ(PathText(mesh, shape, "[m0 m1, -]", text), "neighbor_exchange " + text);
  // One row of eight on each side of the inner ranks, over the dearest of the axes.
  EXPECT_DOUBLE_EQ(CostOf(mesh, shape, "[m0 m1, -]", text), 2 * 8 * 4);
  EXPECT_EQ(PathText(mesh, shape, "[-, -]", text), "slice " + text);
  EXPECT_EQ(PathText(mesh, shape, "[-, m0 m1]", text), "all_to_all [m0 m1, -]; neighbor_exchange " + text);
  EXPECT_EQ(PathText(mesh, shape, "[-, -] partial(m0: sum, m1: sum)", text),
            "reduce_scatter [m0 m1, -]; neighbor_exchange " + text);
  const Redistribution plan = *PlanRedistribution(mesh, type, LayoutOf("[m0 m1, -]", mesh), target);
  EXPECT_EQ(plan.moves.back().axes, (std::vector<AxisId>{AxisId(0), AxisId(1)}));
}

TEST(RedistributeTest, GathersWhereWindowsAreNearlyTheWhole) {
  // A rank that lacks most gets all but its own row by the exchange; the same by an all_gather: a tie.
  const Mesh mesh = MeshOf({4});
  const Shape shape = {4, 8};
  Layout target = LayoutOf("[m0, -]", mesh);
  target.windows = {Halo(shape, 0, 7)};
  const std::string text = LayoutText(target, mesh);
  EXPECT_EQ(PathText(mesh, shape, "[m0, -]", text), "neighbor_exchange " + text);
  // From columns an all_gather alone is less than an all_to_all and the exchange.
  EXPECT_EQ(PathText(mesh, shape, "[-, m0]", text), "all_gather [-, -]; slice " + text);
}

TEST(RedistributeTest, SlicesWhereWindowsLieWithinPieces) {
  const Mesh mesh = MeshOf({4});
  const Shape shape = {16};
  Layout target = LayoutOf("[m0]", mesh);
  target.windows = {{.dimension = 0, .window = {.elements = 16, .outer = 8, .numerator = 2, .last = 1}}};
  EXPECT_EQ(PathText(mesh, shape, "[m0]", LayoutText(target, mesh)), "slice " + LayoutText(target, mesh));
  EXPECT_EQ(CostOf(mesh, shape, "[m0]", LayoutText(target, mesh)), 0);
  // One windowed dimension stays within its pieces, the other is whole before.
  const Mesh square = MeshOf({2, 2});
  const Shape image = {16, 4};
  Layout both = LayoutOf("[m0, m1]", square);
  both.windows = {target.windows[0], Halo(image, 1, 3)};
  EXPECT_EQ(PathText(square, image, "[m0, -]", LayoutText(both, square)), "slice " + LayoutText(both, square));
}

TEST(RedistributeTest, LeavesNoWindows) {
  const Mesh mesh = MeshOf({4});
  const Shape shape = {16};
  const TensorType type{DType::kF32, shape};
  Layout source = LayoutOf("[m0]", mesh);
  source.windows = {Halo(shape, 0, 3)};
  EXPECT_TRUE(PlanRedistribution(mesh, type, source, source)->moves.empty());
  EXPECT_EQ(PlanRedistribution(mesh, type, source, LayoutOf("[m0]", mesh)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RedistributeTest, MovesTheRightElementsIntoWindows) {
  constexpr uint32_t kSeed = 6;
  std::mt19937 random(kSeed);
  int exchanges = 0, slices = 0;
  for (int round = 0; round < 400; ++round) {
    const Mesh mesh = MeshOf(std::vector<std::vector<int64_t>>{{4}, {2, 2}, {3, 2}, {2, 2, 2}}[random() % 4]);
    TensorType type{DType::kF32, {}};
    for (int d = 0; d < 2; ++d) type.shape.push_back(1 + static_cast<int64_t>(random() % 12));
    const Layout source = RandomLayout(mesh, 2, true, random);
    Layout target = RandomLayout(mesh, 2, false, random);
    for (int d = 0; d < 2; ++d) {
      if (target.dimensions[static_cast<size_t>(d)].empty() || random() % 4 == 0) continue;
      const int64_t first = static_cast<int64_t>(random() % 5) - 2;
      target.windows.push_back({.dimension = d,
                                .window = {.elements = type.shape[static_cast<size_t>(d)],
                                           .outer = 1 + static_cast<int64_t>(random() % 12),
                                           .numerator = 1 + static_cast<int64_t>(random() % 2),
                                           .denominator = 1 + static_cast<int64_t>(random() % 2),
                                           .first = first,
                                           .last = first + static_cast<int64_t>(random() % 3)}});
    }
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round << ": " << ShapeText(type.shape) << " "
                                    << LayoutText(source, mesh) << " -> " << LayoutText(target, mesh));
    ExpectCorrectPath(mesh, type, source, target, Reduction::kSum);
    ASSERT_FALSE(HasFatalFailure());
    if (target.windows.empty()) continue;
    const Redistribution plan = *PlanRedistribution(mesh, type, source, target);
    ASSERT_FALSE(plan.moves.empty());
    (plan.moves.back().collective.has_value() ? exchanges : slices) += 1;
    // By both ways: through the same cuts, and through whole dimensions.
    Layout whole = target.WithoutWindows();
    for (const DimensionWindow& window : target.windows) whole.dimensions[static_cast<size_t>(window.dimension)].clear();
    const Layout cut = target.WithoutWindows();
    Move exchange{.collective = CollectiveKind::kNeighborExchange, .axes = WindowedAxes(target), .result = target};
    const double received = static_cast<double>(LargestReceivedElements(cut, target, mesh, type.shape));
    EXPECT_DOUBLE_EQ(MoveCost(mesh, type, cut, exchange), 4 * received);
    const double by_cut = PlanRedistribution(mesh, type, source, cut)->cost +
                          (IsWithin(cut, target, mesh, type.shape) ? 0 : 4 * received);
    const double by_whole = PlanRedistribution(mesh, type, source, whole)->cost;
    EXPECT_LE(plan.cost, std::min(by_cut, by_whole) + 1e-9);
    if (target.windows.size() == 1) {
      EXPECT_NEAR(plan.cost, std::min(by_cut, by_whole), 1e-9);
    }
  }
  EXPECT_GT(exchanges, 20);
  EXPECT_GT(slices, 20);
}

}  // namespace
}  // namespace cleave
