#include "runtime/mesh/mesh.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>
#include <utility>

namespace cleave::runtime {
namespace {

using Numbers = std::vector<int64_t>;

TEST(Piece, PiecesTileTheDimensionAndDifferByOneAtMost) {
  for (int64_t elements : {0, 1, 2, 7, 10, 256, 1000003}) {
    for (int64_t pieces = 1; pieces <= 9; ++pieces) {
      int64_t end = 0;
      for (int64_t i = 0; i < pieces; ++i) {
        const Range piece = Piece(elements, pieces, i);
        EXPECT_EQ(piece.begin, end);
        EXPECT_GE(piece.size, elements / pieces);
        EXPECT_LE(piece.size, (elements + pieces - 1) / pieces);
        end += piece.size;
      }
      EXPECT_EQ(end, elements);
    }
  }
}

TEST(Piece, OfTheLargestDimension) {
  constexpr int64_t kElements = (int64_t{1} << 53) - 1;
  EXPECT_EQ(Piece(kElements, 3, 1).begin, 3002399751580330);
  EXPECT_EQ(Piece(kElements, 3, 1).size, 3002399751580330);
  EXPECT_EQ(Piece(kElements, 3, 2).size, 3002399751580331);
  constexpr int64_t kPieces = int64_t{1} << 20;
  EXPECT_EQ(Piece(kElements, kPieces, kPieces / 2).begin, kElements / 2);
  const Range last = Piece(kElements, kPieces, kPieces - 1);
  EXPECT_EQ(last.begin + last.size, kElements);
  EXPECT_EQ(last.size, int64_t{1} << 33);
}

TEST(Piece, PiecesOfInnerAxesAreThePieceOfTheOuterOnes) {
  for (int64_t elements = 0; elements <= 40; ++elements) {
    for (int64_t outer = 1; outer <= 4; ++outer) {
      for (int64_t inner = 1; inner <= 4; ++inner) {
        for (int64_t i = 0; i < outer; ++i) {
          const Numbers sizes = PieceSizes(elements, outer * inner, i * inner, inner);
          EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), Piece(elements, outer, i).size);
        }
      }
    }
  }
}

TEST(PieceSizes, OfTenCutFourWays) { EXPECT_EQ(PieceSizes(10, 4), (Numbers{2, 3, 2, 3})); }

// The ranks that differ from `rank` only on axis `axis`.
Numbers Neighbours(const Mesh& mesh, int64_t rank, int axis) {
  Numbers ranks;
  for (int64_t i = 0; i < mesh[static_cast<size_t>(axis)].size; ++i) ranks.push_back(RankAt(mesh, rank, {axis}, i));
  return ranks;
}

TEST(RankAt, GroupsOfRankFive) {
  const Mesh mesh = {{"a", 3}, {"b", 4}, {"c", 2}, {"d", 3}, {"e", 2}};
  EXPECT_EQ(Neighbours(mesh, 5, 0), (Numbers{5, 53, 101}));
  EXPECT_EQ(Neighbours(mesh, 5, 1), (Numbers{5, 17, 29, 41}));
  EXPECT_EQ(Neighbours(mesh, 5, 2), (Numbers{5, 11}));
  EXPECT_EQ(Neighbours(mesh, 5, 3), (Numbers{1, 3, 5}));
  EXPECT_EQ(Neighbours(mesh, 5, 4), (Numbers{4, 5}));
}

TEST(IndexOnAxes, InvertsRankAtForEveryOrderOfAxes) {
  const Mesh mesh = {{"m0", 3}, {"m1", 2}, {"m2", 2}};
  EXPECT_EQ(Coordinates(mesh, 7), (Numbers{1, 1, 1}));
  for (const std::vector<int>& axes : {std::vector<int>{}, {0}, {2, 0}, {0, 2}, {1, 0, 2}}) {
    int64_t members = 1;
    for (int axis : axes) members *= mesh[static_cast<size_t>(axis)].size;
    for (int64_t rank = 0; rank < MeshSize(mesh); ++rank) {
      EXPECT_EQ(RankAt(mesh, rank, axes, IndexOnAxes(mesh, rank, axes)), rank);
      for (int64_t i = 0; i < members; ++i) EXPECT_EQ(IndexOnAxes(mesh, RankAt(mesh, rank, axes, i), axes), i);
    }
  }
}

TEST(RegionOf, TheReplicasOfAllPiecesAreTheRanks) {
  const Mesh mesh = {{"m0", 2}, {"m1", 3}, {"m2", 2}};
  const TensorLayout layout = {{7, 5, 4}, {{1}, {}, {2}}};
  std::set<std::pair<Numbers, int64_t>> seen;
  int64_t elements = 0;
  for (int64_t rank = 0; rank < MeshSize(mesh); ++rank) {
    const Region region = RegionOf(layout, mesh, rank);
    const Replica replica = ReplicaOf(layout, mesh, rank);
    EXPECT_EQ(replica.count, 2);
    EXPECT_EQ(replica.index, Coordinates(mesh, rank)[0]);
    EXPECT_TRUE(seen.emplace(region.begin, replica.index).second);
    if (replica.index == 0) elements += ElementCount(region.size);
  }
  EXPECT_EQ(elements, 7 * 5 * 4);
  EXPECT_EQ(RegionOf(layout, mesh, 5).begin, (Numbers{4, 0, 2}));
  EXPECT_EQ(RegionOf(layout, mesh, 5).size, (Numbers{3, 5, 2}));
  EXPECT_EQ(RegionOf({{8}, {{2, 0}}}, mesh, 6).begin, (Numbers{2}));  // Of four pieces the one at (0, 1).
  EXPECT_EQ(ReplicaOf({{8}, {{2, 0}}}, mesh, 4).index, 2);
  EXPECT_EQ(ReplicaOf({{8}, {}, true}, mesh, 4).count, 1);
  EXPECT_EQ(ElementCount(RegionOf({{}}, mesh, 4).size), 1);
}

TEST(ForEachRun, VisitsExactlyTheElementsOfThePieceInOrder) {
  const unsigned seed = 20;
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    Region region;
    for (size_t rank = random() % 5; rank > 0; --rank) {
      const int64_t size = 1 + static_cast<int64_t>(random() % 5);
      const Range piece = Piece(size, 1 + static_cast<int64_t>(random() % 3), 0);
      region.shape.push_back(size);
      region.begin.push_back(size - piece.size);
      region.size.push_back(piece.size);
    }
    Numbers expected;
    for (int64_t i = 0; i < ElementCount(region.shape); ++i) {
      bool inside = true;
      int64_t rest = i;
      for (size_t d = region.shape.size(); d-- > 0; rest /= region.shape[d]) {
        const int64_t at = rest % region.shape[d] - region.begin[d];
        inside = inside && at >= 0 && at < region.size[d];
      }
      if (inside) expected.push_back(i);
    }
    Numbers visited;
    ForEachRun(region, [&](int64_t global, int64_t local, int64_t count) {
      EXPECT_EQ(local, static_cast<int64_t>(visited.size()));
      for (int64_t i = 0; i < count; ++i) visited.push_back(global + i);
    });
    EXPECT_EQ(visited, expected);
  }
}

}  // namespace
}  // namespace cleave::runtime
