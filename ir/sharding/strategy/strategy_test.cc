#include "ir/sharding/strategy/strategy.h"

#include <random>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::ir {
namespace {

constexpr AxisId kM0(0), kM1(1), kM2(2);

// "i k, j k -> i j"
Rule MatmulRule(int64_t i = 256, int64_t k = 784, int64_t j = 512) {
  return Rule{.factors = {{.name = "i", .size = i},
                          {.name = "k", .kind = FactorKind::kReduced, .size = k},
                          {.name = "j", .size = j}},
              .inputs = {{{0}, {1}}, {{2}, {1}}},
              .output = {{0}, {2}},
              .linear = {{0}, {1}}};
}

// "(a b) c -> a (b c)"
Rule ReshapeRule(int64_t a, int64_t b, int64_t c) {
  return Rule{.factors = {{.name = "a", .size = a}, {.name = "b", .size = b}, {.name = "c", .size = c}},
              .inputs = {{{0, 1}, {2}}},
              .output = {{0}, {1, 2}},
              .linear = {{0}}};
}

Rule AddRule(int64_t n, int64_t k) {
  return Rule{.factors = {{.name = "n", .size = n}, {.name = "k", .size = k}},
              .inputs = {{{0}, {1}}, {{0}, {1}}},
              .output = {{0}, {1}},
              .linear = {{0, 1}}};
}

Strategy Cuts(std::vector<AxisList> cuts) { return Strategy{.cuts = std::move(cuts), .passes = {}}; }

TEST(StrategyTest, LayoutsOfAMatmul) {
  const Mesh mesh = Mesh::OfDevices(8);
  const Rule rule = MatmulRule();
  const Strategy strategy = Cuts({{kM0, kM1}, {kM2}, {}});
  ASSERT_TRUE(VerifyStrategy(strategy, rule, mesh).ok());
  EXPECT_EQ(LayoutText(InputLayout(strategy, rule, 0), mesh), "[m0 m1, m2]");
  EXPECT_EQ(LayoutText(InputLayout(strategy, rule, 1), mesh), "[-, m2]");
  EXPECT_EQ(LayoutText(OutputLayout(strategy, rule), mesh), "[m0 m1, -] partial(m2: sum)");
  EXPECT_EQ(InStrategyText(InStrategy(strategy, rule, mesh)), "((4, 2), (1, 2))");
  EXPECT_EQ(OutStrategy(strategy, rule, mesh), (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(RangesOf(strategy, rule, mesh, 7),
            (std::vector<FactorRange>{{192, 64, 256, true}, {392, 392, 784, true}, {0, 512, 512, false}}));
}

TEST(StrategyTest, PassThroughMakesItsGroupPartial) {
  const Mesh mesh = Mesh::OfDevices(8);
  const Rule add = AddRule(8, 4);
  Strategy strategy = Cuts({{kM1}, {}});
  strategy.passes = {{.axis = kM0, .group = 0}};
  ASSERT_TRUE(VerifyStrategy(strategy, add, mesh).ok());
  EXPECT_EQ(LayoutText(InputLayout(strategy, add, 1), mesh), "[m1, -] partial(m0: sum)");
  EXPECT_EQ(LayoutText(OutputLayout(strategy, add), mesh), "[m1, -] partial(m0: sum)");

  const Rule matmul = MatmulRule();
  Strategy left = Cuts({{}, {kM2}, {}});
  left.passes = {{.axis = kM1, .group = 0}};
  EXPECT_EQ(LayoutText(InputLayout(left, matmul, 0), mesh), "[-, m2] partial(m1: sum)");
  EXPECT_EQ(LayoutText(InputLayout(left, matmul, 1), mesh), "[-, m2]");
  EXPECT_EQ(LayoutText(OutputLayout(left, matmul), mesh), "[-, -] partial(m1: sum, m2: sum)");
}

TEST(StrategyTest, RefusesWhatIsInvalid) {
  const Mesh mesh = Mesh::OfDevices(8);
  Rule rule = MatmulRule();
  EXPECT_FALSE(VerifyStrategy(Cuts({{kM0}, {}}), rule, mesh).ok());
  EXPECT_EQ(VerifyStrategy(Cuts({{kM0}, {kM0}, {}}), rule, mesh).message(), "mesh axis `m0` is used twice");
  EXPECT_EQ(VerifyStrategy(Cuts({{AxisId(3)}, {}, {}}), rule, mesh).message(), "mesh axis 3 does not exist");
  Strategy twice = Cuts({{kM0}, {}, {}});
  twice.passes = {{.axis = kM0, .group = 0}};
  EXPECT_EQ(VerifyStrategy(twice, rule, mesh).message(), "mesh axis `m0` is used twice");
  twice.passes = {{.axis = kM1, .group = 2}};
  EXPECT_EQ(VerifyStrategy(twice, rule, mesh).message(), "the op has no linear group 2");
  rule.factors[2].kind = FactorKind::kWhole;
  EXPECT_EQ(VerifyStrategy(Cuts({{}, {}, {kM0}}), rule, mesh).message(),
            "factor `j` must not be cut: the op has no form that is split along it");
  rule.factors[2].kind = FactorKind::kInner;
  rule.factors[2].max_pieces = 3;
  EXPECT_TRUE(VerifyStrategy(Cuts({{}, {}, {kM0}}), rule, mesh).ok());
  EXPECT_EQ(
      VerifyStrategy(Cuts({{}, {}, {kM0, kM1}}), rule, mesh).message(),
      "factor `j` must not be cut into more than 3 pieces: what the op exchanges then would have too many elements");
}

TEST(StrategyTest, CompoundDimensionsAreCutMajorFirst) {
  const Mesh mesh = Mesh::OfDevices(8);
  const Rule rule = ReshapeRule(2, 6, 3);
  EXPECT_TRUE(VerifyStrategy(Cuts({{kM0}, {}, {}}), rule, mesh).ok());
  // b is a minor factor of the input: a must be exhausted first.
  EXPECT_FALSE(VerifyStrategy(Cuts({{}, {kM0}, {}}), rule, mesh).ok());
  EXPECT_TRUE(VerifyStrategy(Cuts({{kM0}, {kM1}, {}}), rule, mesh).ok());
  // b is followed by c in the output: 4 pieces of 6 elements would be uneven there.
  EXPECT_FALSE(VerifyStrategy(Cuts({{kM0}, {kM1, kM2}, {}}), rule, mesh).ok());
  // c stands alone in the input but follows b in the output.
  EXPECT_FALSE(VerifyStrategy(Cuts({{}, {}, {kM0}}), rule, mesh).ok());
  EXPECT_TRUE(VerifyStrategy(Cuts({{}, {}, {kM0}}), ReshapeRule(4, 1, 3), mesh).ok());
  EXPECT_EQ(InStrategyText(InStrategy(Cuts({{kM0}, {kM1}, {}}), rule, mesh)), "((4, 1))");
}

// For every accepted strategy and every tensor: what a rank computes according to its factor ranges is what it holds
// according to the layouts.
TEST(StrategyTest, RangesAreTheSlices) {
  constexpr uint32_t kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    const Mesh mesh = Mesh::OfDevices(1 + static_cast<int64_t>(random() % 12));
    const auto size = [&] { return 1 + static_cast<int64_t>(random() % 6); };
    const Rule rule = random() % 2 == 0 ? ReshapeRule(size(), size(), size()) : MatmulRule(size(), size(), size());
    Strategy strategy = Strategy::Replicated(rule);
    for (AxisId axis : mesh.AxisIds()) {
      const size_t factor = random() % 4;
      if (factor < 3) strategy.cuts[factor].push_back(axis);
    }
    if (!VerifyStrategy(strategy, rule, mesh).ok()) continue;
    ++accepted;
    const auto check = [&](const Layout& layout, const std::vector<FactorList>& dimensions) {
      for (int rank = 0; rank < mesh.rank_count(); ++rank) {
        const std::vector<FactorRange> ranges = RangesOf(strategy, rule, mesh, rank);
        Shape shape;
        std::vector<Piece> expected;
        for (const FactorList& factors : dimensions) {
          Piece piece{0, 1};
          int64_t whole = 1;
          for (int factor : factors) {
            const FactorRange& range = ranges[static_cast<size_t>(factor)];
            piece.begin = piece.begin * range.global + range.begin;
            // Elements are consecutive only if all but one factor are single or whole.
            piece.size *= range.size;
            whole *= range.global;
          }
          shape.push_back(whole);
          expected.push_back(piece);
        }
        const std::vector<Piece> slice = SliceOf(layout, mesh, shape, rank);
        for (size_t d = 0; d < slice.size(); ++d) {
          ASSERT_EQ(slice[d].size, expected[d].size)
              << rule.ToString() << " " << LayoutText(layout, mesh) << " round " << round;
          if (slice[d].size > 0) {
            ASSERT_EQ(slice[d].begin, expected[d].begin)
                << rule.ToString() << " " << LayoutText(layout, mesh) << " round " << round;
          }
        }
      }
    };
    check(InputLayout(strategy, rule, 0), rule.inputs[0]);
    check(OutputLayout(strategy, rule), rule.output);
  }
  EXPECT_GT(accepted, 500);
}

std::optional<std::vector<int64_t>> Counts(std::vector<int64_t> counts) { return counts; }

TEST(CountsTest, AxesInOrderOfAppearance) {
  const Mesh mesh = Mesh::OfDevices(8);
  const Rule rule = MatmulRule();
  EXPECT_EQ(*StrategyFromCounts({Counts({4, 2}), Counts({1, 2})}, rule, mesh, nullptr), Cuts({{kM0, kM1}, {kM2}, {}}));
  EXPECT_EQ(*StrategyFromCounts({Counts({2, 1}), Counts({4, 1})}, rule, mesh, nullptr), Cuts({{kM0}, {}, {kM1, kM2}}));
  EXPECT_EQ(*StrategyFromCounts({Counts({1, 2}), Counts({1, 2})}, rule, mesh, nullptr), Cuts({{}, {kM0}, {}}));
  EXPECT_EQ(*StrategyFromCounts({Counts({8, 1}), std::nullopt}, rule, mesh, nullptr), Cuts({{kM0, kM1, kM2}, {}, {}}));
  EXPECT_EQ(*StrategyFromCounts({std::nullopt, Counts({1, 2})}, rule, mesh, nullptr), Cuts({{}, {kM0}, {}}));
}

TEST(CountsTest, FirstAssignmentThatFits) {
  const Mesh mesh = Mesh::OfDevices(12);  // 3, 2, 2
  const Rule rule = MatmulRule();
  EXPECT_EQ(*StrategyFromCounts({Counts({4, 3}), Counts({1, 3})}, rule, mesh, nullptr), Cuts({{kM1, kM2}, {kM0}, {}}));
  EXPECT_EQ(*StrategyFromCounts({Counts({6, 2}), Counts({1, 2})}, rule, mesh, nullptr), Cuts({{kM0, kM1}, {kM2}, {}}));
  // An axis that the first factor could take is left to the second: 4 = 4, 2 = 2 on a mesh of 2 x 4.
  const Mesh other = *Mesh::Create({{.name = "a", .size = 2}, {.name = "b", .size = 4}, {.name = "c", .size = 2}});
  EXPECT_EQ(*StrategyFromCounts({Counts({4, 4}), Counts({1, 4})}, rule, other, nullptr), Cuts({{kM0, kM2}, {kM1}, {}}));
}

TEST(CountsTest, CompoundDimensionsSplit) {
  const Mesh mesh = Mesh::OfDevices(8);
  EXPECT_EQ(*StrategyFromCounts({Counts({4, 1})}, ReshapeRule(2, 6, 3), mesh, nullptr), Cuts({{kM0}, {kM1}, {}}));
  EXPECT_FALSE(StrategyFromCounts({Counts({8, 1})}, ReshapeRule(2, 6, 3), mesh, nullptr).ok());
}

TEST(CountsTest, ErrorsSayWhere) {
  const Mesh mesh = Mesh::OfDevices(8);
  Rule rule = MatmulRule();
  struct WrongCounts {
    std::vector<std::optional<std::vector<int64_t>>> counts;
    std::string message;
    int input;
    int dimension;
    absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  };
  const std::vector<WrongCounts> cases = {
      {{Counts({3, 1}), Counts({1, 1})}, "8 devices cannot be divided into 3 slices", 0, 0},
      {{Counts({1, 1}), Counts({1, 16})}, "8 devices cannot be divided into 16 slices", 1, 1},
      {{Counts({1, 0}), Counts({1, 1})}, "a dimension cannot be cut into 0 slices", 0, 1},
      {{Counts({1, 2}), Counts({1, 4})}, "factor `k` is cut into 2 by one input and into 4 by another", 1, 1},
      {{Counts({1, 2, 1}), Counts({1, 4})}, "input 0 has 2 dimensions, its strategy 3", 0, -1},
      {{Counts({1, 2})}, "the strategy is for 1 inputs, the op has 2", -1, -1},
      {{Counts({4, 4}), Counts({1, 4})},
       "the slices of all factors together are 16, and 8 devices (m0=2, m1=2, m2=2) have no mesh axes left for 4 of "
       "them",
       0,
       1,
       absl::StatusCode::kResourceExhausted},
  };
  for (const WrongCounts& wrong : cases) {
    CountsPlace place;
    const absl::StatusOr<Strategy> strategy = StrategyFromCounts(wrong.counts, rule, mesh, &place);
    EXPECT_EQ(strategy.status().message(), wrong.message);
    EXPECT_EQ(place.input, wrong.input) << wrong.message;
    EXPECT_EQ(place.dimension, wrong.dimension) << wrong.message;
  }
  rule.factors[2].kind = FactorKind::kWhole;
  CountsPlace place;
  EXPECT_FALSE(StrategyFromCounts({std::nullopt, Counts({2, 1})}, rule, mesh, &place).ok());
  EXPECT_EQ(place.input, 1);
  EXPECT_EQ(place.dimension, 0);
}

// Reading what InStrategy writes cuts the same numbers of slices.
TEST(CountsTest, RoundTrips) {
  const Mesh mesh = Mesh::OfDevices(12);
  const Rule rule = MatmulRule();
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      for (int c = 0; c < 4; ++c) {
        Strategy strategy = Strategy::Replicated(rule);
        const int factors[] = {a, b, c};
        for (int axis = 0; axis < 3; ++axis) {
          if (factors[axis] < 3) strategy.cuts[static_cast<size_t>(factors[axis])].push_back(AxisId(axis));
        }
        const std::vector<std::vector<int64_t>> counts = InStrategy(strategy, rule, mesh);
        const absl::StatusOr<Strategy> back = StrategyFromCounts({counts[0], counts[1]}, rule, mesh, nullptr);
        ASSERT_TRUE(back.ok()) << back.status();
        EXPECT_EQ(InStrategy(*back, rule, mesh), counts);
      }
    }
  }
}

TEST(InheritTest, FactorsMapAndInvalidCutsAreLeftOut) {
  const Mesh mesh = Mesh::OfDevices(8);
  const Strategy forward = Cuts({{kM0, kM1}, {kM2}, {}});
  // The gradient by the first input: "i j, j k -> i k", its i, j, k being 0, 2, 1 of the forward op.
  const Rule rule{.factors = {{.name = "i", .size = 256},
                              {.name = "k", .kind = FactorKind::kReduced, .size = 512},
                              {.name = "j", .size = 784}},
                  .inputs = {{{0}, {1}}, {{1}, {2}}},
                  .output = {{0}, {2}},
                  .linear = {{0}, {1}}};
  const Strategy backward = InheritStrategy(forward, {.op = OpId(0), .factors = {0, 2, 1}}, rule, mesh);
  EXPECT_EQ(backward, Cuts({{kM0, kM1}, {}, {kM2}}));
  EXPECT_EQ(LayoutText(OutputLayout(backward, rule), mesh), "[m0 m1, m2]");
  Rule whole = rule;
  whole.factors[0].kind = FactorKind::kWhole;
  EXPECT_EQ(InheritStrategy(forward, {.op = OpId(0), .factors = {0, -1, 1}}, whole, mesh), Cuts({{}, {}, {kM2}}));
}

TEST(OutputLayoutTest, StrategyOfALayout) {
  const Mesh mesh = Mesh::OfDevices(8);
  const Rule matmul = MatmulRule();
  EXPECT_EQ(*StrategyFromOutputLayout(*ParseLayout("[m1, m0 m2]", mesh), matmul, mesh), Cuts({{kM1}, {}, {kM0, kM2}}));
  const Rule reshape = ReshapeRule(2, 6, 3);
  EXPECT_EQ(*StrategyFromOutputLayout(*ParseLayout("[m0, m1]", mesh), reshape, mesh), Cuts({{kM0}, {kM1}, {}}));
  EXPECT_FALSE(StrategyFromOutputLayout(*ParseLayout("[-, m1]", mesh), reshape, mesh).ok());
  EXPECT_FALSE(StrategyFromOutputLayout(*ParseLayout("[-, -] partial(m0: sum)", mesh), reshape, mesh).ok());
}

}  // namespace
}  // namespace cleave::ir
