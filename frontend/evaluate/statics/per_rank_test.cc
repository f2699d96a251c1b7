#include "frontend/evaluate/statics/per_rank.h"

#include <gtest/gtest.h>

#include "frontend/evaluate/frame/testing.h"

namespace cleave::frontend {
namespace {

const std::vector<ir::RankAxis> kFourRanks = {{"world", 4}};

Value Ints(const std::vector<int64_t>& numbers) {
  std::vector<Value> ranks;
  for (const int64_t number : numbers) ranks.emplace_back().kind = number;
  return *PerRank(std::move(ranks));
}

Value Even() { return *PerRank({Value{true}, Value{false}, Value{true}, Value{false}}); }

TEST(PerRankTest, ComputesWithWhatEachRankHas) {
  TestBench bench(LetText("1"), kFourRanks);
  const Value sum =
      RankByRank({Ints({0, 1, 2, 3}), Value{int64_t{10}}}, bench.ops.graph(), bench.reporter,
                 [](const std::vector<Value>& of_rank) { return Value{of_rank[0].as_int() + of_rank[1].as_int()}; });
  EXPECT_EQ(sum, Ints({10, 11, 12, 13}));
}

TEST(PerRankTest, PoisonOfOneRankIsPoisonOfAll) {
  TestBench bench(LetText("1"), kFourRanks);
  int calls = 0;
  const Value result =
      RankByRank({Ints({0, 1, 2, 3})}, bench.ops.graph(), bench.reporter, [&](const std::vector<Value>& of_rank) {
        ++calls;
        return of_rank[0].as_int() == 1 ? Value{Poison()} : of_rank[0];
      });
  EXPECT_TRUE(result.is_poison());
  EXPECT_EQ(calls, 2);
}

void CheckChoice(const Value& then, const Value& otherwise, const std::string& expected) {
  TestBench bench(LetText("1"), kFourRanks);
  const auto result = ChooseOnRanks(Even(), then, otherwise, bench.ops.graph());
  EXPECT_EQ(result ? bench.TextOf(*result) : "nothing", expected);
}

TEST(PerRankTest, ChoosesOnEachRank) {
  const Value one{int64_t{1}}, two{int64_t{2}};
  CheckChoice(one, two, "1 on rank 0, 2 on rank 1");
  CheckChoice(one, one, "1");
  CheckChoice(Ints({5, 6, 7, 8}), two, "5 on rank 0, 2 on rank 1");
  CheckChoice(Value{TupleValue{{one, two}}}, Value{TupleValue{{one, one}}}, "(1, 2 on rank 0, 1 on rank 1)");
  CheckChoice(one, Value{0.5}, "1.0 on rank 0, 0.5 on rank 1");
  CheckChoice(one, Value{std::string("a")}, "nothing");
  CheckChoice(Value{TupleValue{{one, two}}}, Value{TupleValue{{one}}}, "nothing");
  CheckChoice(Value{TensorValue{ir::OpId(0)}}, Value{TensorValue{ir::OpId(1)}}, "nothing");
}

TEST(PerRankTest, ADifferenceIsShownWhereItStands) {
  TestBench bench(LetText("(2, n)"), kFourRanks);
  const Value n = Ints({0, 0, 7, 8});
  bench.Define("n", n);
  const Value value{TupleValue{{Value{int64_t{2}}, n}}};
  const Diagnostic error =
      ShapeDiffersBetweenRanks("a shape", bench.expression(), value, bench.frame.scope, bench.ops.graph());
  ASSERT_EQ(error.labels.size(), 2u);
  EXPECT_EQ(error.labels[0].text, "this is 0 on rank 0, 7 on rank 2");
  EXPECT_EQ(error.labels[0].span.end - error.labels[0].span.begin, 1) << "the element, not the tuple";
  EXPECT_EQ(error.labels[1].text, "`n` comes from here");
  EXPECT_EQ(error.code, Code::kE0702);
}

TEST(PerRankTest, ACallForWhichRanksWouldWaitIsNamed) {
  TestBench bench(LetText("n"), kFourRanks);
  const auto labels = [&](const std::optional<CommunicatingCall>& call) {
    return ProgramDiffersBetweenRanks("a loop", bench.expression(), Ints({0, 1, 2, 3}), call, bench.frame.scope,
                                      bench.ops.graph());
  };
  EXPECT_EQ(labels(CommunicatingCall{"recv", Span()}).labels.back().text, "ranks would not call `recv` together");
  EXPECT_TRUE(labels(CommunicatingCall{"recv", Span()}).notes.empty());
  EXPECT_EQ(labels(std::nullopt).notes.size(), 1u);
}

}  // namespace
}  // namespace cleave::frontend
