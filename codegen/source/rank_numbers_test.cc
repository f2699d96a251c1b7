#include "codegen/source/rank_numbers.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/program/program.h"

namespace cleave::codegen {
namespace {

// Texts of numbers on the mesh (dp = 2, tp = 4) or another one.
class RankNumbersTest : public testing::Test {
 protected:
  void UseMesh(const std::vector<std::pair<std::string, int64_t>>& axes, std::optional<int> rank = std::nullopt) {
    std::vector<ir::MeshAxis> mesh;
    for (const auto& [name, size] : axes) mesh.push_back({.name = name, .size = size, .link = "memory", .weight = 1});
    program_.mesh = *ir::Mesh::Create(mesh);
    sizes_.emplace(program_, rank, identifiers_);
    numbers_.emplace(program_.mesh, *sizes_, identifiers_);
  }

  void SetUp() override { UseMesh({{"dp", 2}, {"tp", 4}}); }

  std::string Text(const std::vector<int64_t>& by_rank) { return numbers_->Of(by_rank, "x_start").Text(); }
  std::string FloatText(const std::vector<double>& by_rank) { return numbers_->OfFloats(by_rank, "x").Text(); }

  ir::Program program_;
  Identifiers identifiers_;
  std::optional<Sizes> sizes_;
  std::optional<RankNumbers> numbers_;
};

TEST_F(RankNumbersTest, OneNumberForAll) {
  EXPECT_EQ(Text({7, 7, 7, 7, 7, 7, 7, 7}), "7");
  EXPECT_EQ(FloatText({0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}), "0.5f");
  EXPECT_FALSE(numbers_->uses_rank());
}

TEST_F(RankNumbersTest, AFormulaOfTheRank) {
  EXPECT_EQ(Text({0, 1, 2, 3, 4, 5, 6, 7}), "rank");
  EXPECT_EQ(Text({0, 32, 64, 96, 128, 160, 192, 224}), "rank * 32");
  EXPECT_EQ(Text({5, 6, 7, 8, 9, 10, 11, 12}), "rank + 5");
  EXPECT_EQ(Text({-1, 0, 1, 2, 3, 4, 5, 6}), "rank - 1");
  EXPECT_EQ(Text({14, 12, 10, 8, 6, 4, 2, 0}), "rank * -2 + 14");
  EXPECT_EQ(Text({1, 2, 3, 4, 5, 6, 7, 0}), "(rank + 1) % 8");
  EXPECT_EQ(Text({7, 0, 1, 2, 3, 4, 5, 6}), "(rank + 7) % 8");
  EXPECT_EQ(Text({1, 2, 3, 4, 5, 6, 7, -1}), "rank < 7 ? rank + 1 : -1");
  EXPECT_TRUE(numbers_->uses_rank());
  EXPECT_TRUE(numbers_->tables().empty());
}

TEST_F(RankNumbersTest, AFormulaOfAMeshAxis) {
  EXPECT_EQ(Text({0, 0, 0, 0, 8, 8, 8, 8}), "dp * 8");
  EXPECT_EQ(Text({3, 5, 7, 9, 3, 5, 7, 9}), "tp * 2 + 3");
  EXPECT_EQ(sizes_->UsedAxes(), (std::set<ir::AxisId>{ir::AxisId(0), ir::AxisId(1)}));
  EXPECT_FALSE(numbers_->uses_rank());
}

TEST_F(RankNumbersTest, AFormulaOfNeighbouringMeshAxes) {
  UseMesh({{"a", 2}, {"b", 2}, {"c", 2}});
  EXPECT_EQ(Text({0, 0, 4, 4, 8, 8, 12, 12}), "(a * 2 + b) * 4");
  EXPECT_EQ(Text({0, 0, 1, 1, 2, 2, 3, 3}), "a * 2 + b");
}

TEST_F(RankNumbersTest, ATableOfWhatHasNoFormula) {
  EXPECT_EQ(Text({3, 1, 4, 1, 5, 9, 2, 6}), "x_start_by_rank[rank]");
  EXPECT_EQ(Text({3, 1, 4, 1, 5, 9, 2, 6}), "x_start_by_rank[rank]");
  EXPECT_EQ(Text({2, 7, 1, 8, 2, 8, 1, 8}), "x_start_by_rank_2[rank]");
  EXPECT_EQ(FloatText({0.5, 1, 1, 1, 1, 1, 1, 1}), "x_by_rank[rank]");
  ASSERT_EQ(numbers_->tables().size(), 3u);
  EXPECT_EQ(numbers_->tables()[0].entries.Text(), "{3, 1, 4, 1, 5, 9, 2, 6}");
  EXPECT_EQ(numbers_->tables()[2].type, "float");
  EXPECT_EQ(numbers_->tables()[2].entries.Text(), "{0.5f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f}");
  EXPECT_TRUE(numbers_->uses_rank());
}

TEST_F(RankNumbersTest, AFloatOfARankIsThatOfItsFormula) {
  EXPECT_EQ(FloatText({0, 1, 2, 3, 4, 5, 6, 7}), "static_cast<float>(rank)");
}

TEST_F(RankNumbersTest, ANumberWhereTheRankIsKnown) {
  UseMesh({{"dp", 2}, {"tp", 4}}, 5);
  EXPECT_EQ(Text({0, 32, 64, 96, 128, 160, 192, 224}), "160");
  EXPECT_EQ(FloatText({0, 1, 2, 3, 4, 0.25, 6, 7}), "0.25f");
  EXPECT_FALSE(numbers_->uses_rank());
}

}  // namespace
}  // namespace cleave::codegen
