// Tests which pins agree, which fit the shape of their op, and what is recorded.
#include "frontend/evaluate/pins/pin_recorder.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "frontend/evaluate/frame/testing.h"
#include "frontend/evaluate/pins/agreement.h"
#include "frontend/evaluate/pins/attach.h"

namespace cleave::frontend {
namespace {

ir::CountsPin Counts(const std::vector<int64_t>& numbers) {
  std::vector<ir::Placed<int64_t>> counts;
  for (const int64_t number : numbers) counts.push_back({number, Span()});
  return counts;
}

ir::ShardPin Shard(const ir::CountsPin& in, const ir::CountsPin& out) { return {.in = {in}, .out = out}; }

ir::LayoutPin Layout(const std::vector<std::vector<std::string>>& dimensions) {
  ir::LayoutPin pin;
  for (const auto& axes : dimensions) {
    pin.dimensions.emplace_back();
    for (const std::string& axis : axes) pin.dimensions.back().push_back({axis, Span()});
  }
  return pin;
}

void CheckAgreement(const PinDemand& a, const PinDemand& b, bool expected) {
  EXPECT_EQ(Agree(a, b), expected);
  EXPECT_EQ(Agree(b, a), expected) << "the other way round";
}

TEST(AgreementTest, Shards) {
  CheckAgreement(Shard(Counts({4, 2}), std::nullopt), Shard(Counts({4, 2}), std::nullopt), true);
  CheckAgreement(Shard(Counts({4, 2}), std::nullopt), Shard(Counts({2, 4}), std::nullopt), false);
  CheckAgreement(Shard(Counts({4, 2}), std::nullopt), Shard(std::nullopt, std::nullopt), true);
  CheckAgreement(Shard(std::nullopt, Counts({4, 1})), Shard(std::nullopt, Counts({1, 4})), false);
  CheckAgreement(Shard(Counts({4, 2}), std::nullopt), Shard(std::nullopt, Counts({4, 1})), true);
}

TEST(AgreementTest, Layouts) {
  CheckAgreement(Layout({{"dp"}, {}}), Layout({{"dp"}, {}}), true);
  CheckAgreement(Layout({{"dp"}, {}}), Layout({{}, {"dp"}}), false);
  CheckAgreement(Layout({{"dp", "tp"}, {}}), Layout({{"tp", "dp"}, {}}), false);
}

TEST(AgreementTest, ReplicasWithWhatCutsNothing) {
  CheckAgreement(ir::ReplicatePin(), ir::ReplicatePin(), true);
  CheckAgreement(ir::ReplicatePin(), Shard(Counts({1, 1}), Counts({1, 1})), true);
  CheckAgreement(ir::ReplicatePin(), Shard(std::nullopt, std::nullopt), true);
  CheckAgreement(ir::ReplicatePin(), Shard(Counts({2, 1}), std::nullopt), false);
  CheckAgreement(ir::ReplicatePin(), Shard(Counts({1, 1}), Counts({1, 2})), false);
  CheckAgreement(ir::ReplicatePin(), Layout({{}, {}}), true);
  CheckAgreement(ir::ReplicatePin(), Layout({{"dp"}, {}}), false);
}

TEST(AgreementTest, WhatIsLeftToTheSearch) {
  CheckAgreement(Shard(Counts({4, 2}), std::nullopt), Layout({{"dp"}, {}}), true);
  CheckAgreement(ir::DataParallelPin(), Shard(Counts({4, 2}), std::nullopt), true);
  CheckAgreement(ir::DataParallelPin(), ir::DataParallelPin(), true);
}

// Adds `attribute` to the op that it names: `relu` of x: f32[8, 6] or the input x itself. `expected`: how many pins and
// priorities there are then, or the mistake.
void CheckPin(const std::string& attribute, bool on_source, const std::string& expected) {
  TestBench bench(absl::StrCat("model M() { #[", attribute, "] let y = 1; }"));
  const ir::OpId x = bench.DefineTensor("x", {ir::DType::kF32, {8, 6}});
  const ir::OpId y = bench.ops.AddOp(ir::OpKind::kRelu, {{nullptr, x}}, {}, {Span(), ""}).as_tensor();
  PinRecorder pins(bench.ops.graph(), bench.reporter);
  const auto& statement = std::get<dsl::syntax::Model>(bench.file().items[0].kind).body[0];
  const ir::OpId op = on_source ? x : y;
  AddPin(statement.attributes[0], op, {op}, bench.context.IntsOf(bench.frame), pins);
  const std::string counts = absl::StrCat(pins.pins().size(), " pins, ", pins.priorities().size(), " priorities");
  EXPECT_EQ(bench.Messages().empty() ? counts : bench.Messages(), expected) << attribute;
}

TEST(AttachTest, DemandsFitTheShapeOfTheirOp) {
  CheckPin("shard((4, 1))", false, "1 pins, 0 priorities");
  CheckPin("shard((4, 1), out = (2, 1))", false, "1 pins, 0 priorities");
  CheckPin("shard(out = (2, 1))", false, "1 pins, 0 priorities");
  CheckPin("shard((4, 1))", true, "1 pins, 0 priorities");
  CheckPin("layout(\"dp\", _)", true, "1 pins, 0 priorities");
  CheckPin("replicate", false, "1 pins, 0 priorities");
  CheckPin("priority(3)", false, "0 pins, 1 priorities");
  CheckPin("shard((4))", false, "E0302: slices for 1 dimension, but input 0 has 2");
  CheckPin("shard(out = (4, 1, 1))", false, "E0302: slices for 3 dimensions, but the output has 2");
  CheckPin("shard((4, 1), (4, 1))", false, "E0302: slices for 2 inputs, but `relu` has 1");
  CheckPin("shard((4, 1), (4, 1))", true, "E0302: slices for 2 tensors, but the input `x` is one");
  CheckPin("layout(\"dp\")", false, "E0302: a layout of 1 dimension, but `relu` has 2");
}

class PinRecorderTest : public testing::Test {
 protected:
  PinRecorderTest() : bench_(LetText("1")), pins_(bench_.ops.graph(), bench_.reporter) {
    x_ = bench_.DefineTensor("x", {ir::DType::kF32, {8, 6}});
  }

  TestBench bench_;
  PinRecorder pins_;
  ir::OpId x_;
};

TEST_F(PinRecorderTest, TheSamePinIsWrittenOnce) {
  pins_.Record({x_, Layout({{"dp"}, {}}), Span()});
  pins_.Record({x_, Layout({{"dp"}, {}}), Span()});
  EXPECT_EQ(pins_.pins().size(), 1u);
  EXPECT_EQ(bench_.Messages(), "");
}

TEST_F(PinRecorderTest, PinsThatAgreeAreBothKept) {
  pins_.Record({x_, Shard(Counts({4, 2}), std::nullopt), Span()});
  pins_.Record({x_, Layout({{"dp"}, {}}), Span()});
  EXPECT_EQ(pins_.pins().size(), 2u);
}

TEST_F(PinRecorderTest, PinsThatContradictEachOtherAreReported) {
  pins_.Record({x_, Layout({{"dp"}, {}}), Span()});
  pins_.Record({x_, ir::ReplicatePin(), Span()});
  EXPECT_EQ(pins_.pins().size(), 1u);
  EXPECT_EQ(bench_.Messages(), "E0307: two pins on `x` contradict each other");
}

TEST_F(PinRecorderTest, NothingIsSaidOfARegionsParameterBesideIt) {
  pins_.RecordOfRegion({x_, ir::ReplicatePin(), Span()});
  pins_.Record({x_, Layout({{}, {}}), Span()});
  EXPECT_EQ(bench_.Messages(), "E0321: `x` has two pins");
}

TEST_F(PinRecorderTest, DefaultsCanBeReplaced) {
  pins_.Record({x_, Layout({{}, {}}), Span()});
  pins_.RecordDefault(x_, Span());
  pins_.ReplaceDefaults(ir::DataParallelPin());
  EXPECT_TRUE(std::holds_alternative<ir::LayoutPin>(pins_.pins()[0].demand));
  EXPECT_TRUE(std::holds_alternative<ir::DataParallelPin>(pins_.pins()[1].demand));
}

TEST_F(PinRecorderTest, PinsOfOneElementDoNotCutTheElements) {
  const ir::OpId element = bench_.DefineTensor("element", {ir::DType::kF32, {6}});
  pins_.Record({element, Layout({{"tp"}}), Span()});
  pins_.RecordPriority(element, 5);
  const std::vector<ir::Op> removed = bench_.ops.builder().RemoveFrom(element);
  ir::BatchedOp batched;
  batched.value = x_;
  batched.mapped = true;
  batched.made = {x_};
  pins_.MoveToBatched(removed, {{element, batched}});
  ASSERT_EQ(pins_.pins().size(), 1u);
  EXPECT_EQ(pins_.pins()[0].op, x_);
  EXPECT_EQ(std::get<ir::LayoutPin>(pins_.pins()[0].demand), Layout({{}, {"tp"}}));
  EXPECT_EQ(pins_.Prioritized(), std::set<ir::OpId>{x_});
}

}  // namespace
}  // namespace cleave::frontend
