#include "ir/graph/manual/manual.h"

#include "gtest/gtest.h"
#include "ir/graph/manual/communication.h"
#include "ir/graph/manual/moves.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

using Ints = std::vector<int64_t>;

const std::vector<RankAxis> kGrid = {{"dp", 3}, {"tp", 2}};  // Rank 2 dp + tp.
constexpr RankAxisSet kNone{0};
constexpr RankAxisSet kDp{1};
constexpr RankAxisSet kTp{2};
constexpr RankAxisSet kBoth{3};

TEST(ManualTest, Groups) {
  EXPECT_EQ(RankCount(kGrid), 6);
  EXPECT_EQ(AllAxes(kGrid), kBoth);
  EXPECT_EQ(GroupText(kGrid, kBoth), "dp tp");
  EXPECT_EQ(GroupText(kGrid, kNone), "");
  EXPECT_EQ(GroupOf(kGrid, "tp"), kTp);
  EXPECT_EQ(ParseGroup(kGrid, "dp tp"), kBoth);
  EXPECT_EQ(ParseGroup(kGrid, "tp dp"), std::nullopt);
  EXPECT_EQ(ParseGroup(kGrid, "dp dp"), std::nullopt);
  EXPECT_EQ(ParseGroup(kGrid, "world"), std::nullopt);
  EXPECT_EQ(GroupSize(kGrid, kDp), 3);
  EXPECT_EQ(GroupSize(kGrid, kNone), 1);
  EXPECT_EQ(GroupIndex(kGrid, kDp, 5), 2);
  EXPECT_EQ(GroupIndex(kGrid, kTp, 5), 1);
  EXPECT_EQ(GroupIndex(kGrid, kBoth, 5), 5);
  EXPECT_EQ(GroupIndex(kGrid, kNone, 5), 0);
  EXPECT_EQ(GroupMembers(kGrid, kDp, 3), (Ints{1, 3, 5}));
  EXPECT_EQ(GroupMembers(kGrid, kTp, 3), (Ints{2, 3}));
  EXPECT_EQ(GroupMembers(kGrid, kBoth, 3), (Ints{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(GroupMembers(kGrid, kNone, 3), (Ints{3}));
}

// A member's number is its place among the members, whatever the axes.
TEST(ManualTest, MembersAreNumbered) {
  const std::vector<RankAxis> axes = {{"a", 2}, {"b", 3}, {"c", 1}, {"d", 2}};
  for (uint64_t bits = 0; bits < 16; ++bits) {
    for (int64_t rank = 0; rank < RankCount(axes); ++rank) {
      const Ints members = GroupMembers(axes, {bits}, rank);
      EXPECT_EQ(static_cast<int64_t>(members.size()), GroupSize(axes, {bits}));
      EXPECT_EQ(members[static_cast<size_t>(GroupIndex(axes, {bits}, rank))], rank);
      for (size_t m = 1; m < members.size(); ++m) EXPECT_LT(members[m - 1], members[m]);
    }
  }
}

TEST(ManualTest, Tables) {
  EXPECT_EQ(VarianceOfTable(kGrid, Ints{7, 7, 7, 7, 7, 7}, 1), kNone);
  EXPECT_EQ(VarianceOfTable(kGrid, Ints{0, 0, 1, 1, 2, 2}, 1), kDp);
  EXPECT_EQ(VarianceOfTable(kGrid, Ints{0, 1, 0, 1, 0, 1}, 1), kTp);
  EXPECT_EQ(VarianceOfTable(kGrid, Ints{0, 0, 0, 0, 0, 1}, 1), kBoth);
  EXPECT_EQ(VarianceOfTable(kGrid, Ints{0, 5, 0, 6, 0, 5, 0, 6, 0, 5, 0, 6}, 2), kTp);
  EXPECT_EQ(VarianceOfTable(kGrid, std::vector<double>{0, 0, 0.5, 0.5, 0, 0}), kDp);
}

TEST(ManualTest, VarianceText) {
  EXPECT_EQ(VarianceText(kGrid, kNone), "equal on all ranks");
  EXPECT_EQ(VarianceText(kGrid, kDp), "varies over dp");
  EXPECT_EQ(VarianceText(kGrid, kBoth), "varies over dp and tp");
  EXPECT_EQ(VarianceText({{"a", 2}, {"b", 2}, {"c", 2}}, {7}), "varies over a, b and c");
}

// One op of each kind on a value x, and the axes over which its result varies when x varies over none and when x varies
// over dp.
class OneOp {
 public:
  OneOp(OpKind kind, const Shape& shape, Attributes attributes) {
    builder_.mutable_graph().rank_axes = kGrid;
    std::vector<OpId> inputs;
    if (kind != OpKind::kRankValue && kind != OpKind::kParameter) {
      inputs = {builder_.Add(OpKind::kInput, {}, {{attribute::kShape, shape}, {attribute::kData, "x"}}, "x")};
    }
    op_ = builder_.Add(kind, inputs, std::move(attributes), "op");
  }

  RankAxisSet Of(RankAxisSet x) const {
    return VarianceOfOp(kGrid, builder_.graph().op(op_), std::vector<RankAxisSet>(Op().inputs.size(), x));
  }
  RankAxisSet Over(RankAxisSet x) const {
    return WorkedOver(kGrid, builder_.graph().op(op_), std::vector<RankAxisSet>(Op().inputs.size(), x));
  }

 private:
  const cleave::ir::Op& Op() const { return builder_.graph().op(op_); }

  GraphBuilder builder_;
  OpId op_;
};

Attributes OverTp(Attributes attributes = {}) {
  attributes.Set(attribute::kGroup, "tp");
  attributes.Set(attribute::kSize, 2);
  return attributes;
}

TEST(ManualTest, OrdinaryOpsVaryAsTheirInputs) {
  const OneOp relu(OpKind::kRelu, {4}, {});
  EXPECT_EQ(relu.Of(kNone), kNone);
  EXPECT_EQ(relu.Of(kDp), kDp);
  EXPECT_EQ(relu.Over(kDp), kDp);
  EXPECT_EQ(OneOp(OpKind::kParameter, {}, {{attribute::kShape, Shape{2}}}).Of({}), kNone);
  EXPECT_EQ(OneOp(OpKind::kParameter, {}, {{attribute::kShape, Shape{2}}, {attribute::kLocal, true}}).Of({}), kBoth);
  EXPECT_EQ(OneOp(OpKind::kRankValue, {}, {{attribute::kValues, std::vector<double>{1, 2, 1, 2, 1, 2}}}).Of({}), kTp);
}

TEST(ManualTest, CollectivesThatMakeEqual) {
  for (const OneOp& op :
       {OneOp(OpKind::kAllReduce, {4}, OverTp()), OneOp(OpKind::kAllGather, {4}, OverTp({{attribute::kAxis, 0}})),
        OneOp(OpKind::kBroadcast, {4}, OverTp())}) {
    EXPECT_EQ(op.Of(kNone), kNone);
    EXPECT_EQ(op.Of(kBoth), kDp);
    EXPECT_EQ(op.Over(kNone), kTp);
    EXPECT_EQ(op.Over(kDp), kBoth);
  }
}

TEST(ManualTest, CollectivesThatDealParts) {
  for (const OneOp& op :
       {OneOp(OpKind::kReduceScatter, {4}, OverTp({{attribute::kAxis, 0}})),
        OneOp(OpKind::kAllToAll, {4, 2}, OverTp({{attribute::kSplitAxis, 0}, {attribute::kConcatAxis, 1}})),
        OneOp(OpKind::kRankSlice, {4},
              {{attribute::kAxis, 0}, {attribute::kSize, 2}, {attribute::kStarts, Ints{0, 2, 0, 2, 0, 2}}}),
        OneOp(OpKind::kRankPad, {4},
              {{attribute::kAxis, 0}, {attribute::kSize, 5}, {attribute::kStarts, Ints{0, 1, 0, 1, 0, 1}}})}) {
    EXPECT_EQ(op.Of(kNone), kTp);
    EXPECT_EQ(op.Of(kDp), kBoth);
    EXPECT_EQ(op.Over(kDp), kBoth);
  }
}

OneOp Messages(Ints send_ranks, Ints receive_ranks) {
  return OneOp(OpKind::kNeighborExchange, {4},
               {{attribute::kPrimitive, "neighbor_exchange"},
                {attribute::kSendSizes, Ints{4}},
                {attribute::kReceiveSizes, Ints{4}},
                {attribute::kSendRanks, std::move(send_ranks)},
                {attribute::kReceiveRanks, std::move(receive_ranks)}});
}

// Along an axis that no message crosses, ranks with equal inputs get equal results.
TEST(ManualTest, MessagesVaryOverWhatTheyCross) {
  EXPECT_EQ(Messages({2, 3, 4, 5, 0, 1}, {4, 5, 0, 1, 2, 3}).Of(kNone), kDp);
  EXPECT_EQ(Messages({1, 0, 3, 2, 5, 4}, {1, 0, 3, 2, 5, 4}).Of(kNone), kTp);
  EXPECT_EQ(Messages({1, 0, 3, 2, 5, 4}, {1, 0, 3, 2, 5, 4}).Of(kDp), kBoth);
  EXPECT_EQ(Messages({0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}).Of(kNone), kNone);
  EXPECT_EQ(Messages({-1, -1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1, -1}).Of(kNone), kNone);
  EXPECT_EQ(Messages({2, 3, -1, -1, -1, -1}, {-1, -1, 0, 1, -1, -1}).Of(kNone), kDp);
  EXPECT_EQ(Messages({5, -1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1, 0}).Of(kNone), kBoth);
}

TEST(ManualTest, NothingVariesOverAnAxisOfOneRank) {
  GraphBuilder builder;
  builder.mutable_graph().rank_axes = {{"world", 1}};
  const OpId x = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{2}}, {attribute::kLocal, true}}, "x");
  const OpId part = builder.Add(OpKind::kReduceScatter, {x},
                                {{attribute::kAxis, 0}, {attribute::kGroup, "world"}, {attribute::kSize, 1}}, "part");
  const IdVector<OpId, RankAxisSet> variance = VarianceOf(builder.graph());
  EXPECT_TRUE(variance[x].empty());
  EXPECT_TRUE(variance[part].empty());
}

// This crate knows the ops of the op table that depend on ranks, and no others.
TEST(ManualTest, KnowsEveryOp) {
  for (const OpDefinition* op : AllOps()) {
    EXPECT_EQ(CommunicationOf(op->kind).has_value(), op->rank_use == RankUse::kOthers) << op->kind;
    if (op->kind == OpKind::kParameter || op->kind == OpKind::kState) continue;
    EXPECT_EQ(RankMoveOf(op->kind) == RankMove::kNone, op->rank_use == RankUse::kNone) << op->kind;
  }
}

}  // namespace
}  // namespace cleave::ir
