#include "codegen/program/overlap.h"

#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

using Ranges = std::vector<MemoryRange>;
using What = StageAction::What;

// The memory of a value named by a letter.
MemoryRange At(char name) { return {64 * (name - 'a'), 64 * (name - 'a') + 64}; }

Ranges Named(const std::string& names) {
  Ranges ranges;
  for (const char name : names) ranges.push_back(At(name));
  return ranges;
}

StageMemory Work(ir::Phase phase, const std::string& reads, const std::string& writes) {
  return {.phase = phase, .reads = Named(reads), .writes = Named(writes)};
}
StageMemory Reduce(ir::Phase phase, const std::string& value) {
  return {.phase = phase, .reads = Named(value), .writes = Named(value), .can_overlap = true, .is_collective = true};
}

// "0 <3 1 2 3> | 4": stages in order, "<" where a collective starts, ">" where it is finished, "|" before the update.
std::string Text(const std::vector<StageAction>& actions) {
  std::string text;
  bool in_update = false;
  for (const StageAction& action : actions) {
    if (action.phase == ir::Phase::kUpdate && !in_update) absl::StrAppend(&text, " |");
    in_update = action.phase == ir::Phase::kUpdate;
    absl::StrAppend(&text, " ", action.what == What::kStart ? "<" : "", action.stage,
                    action.what == What::kFinish ? ">" : "");
  }
  return text.empty() ? "" : text.substr(1);
}

std::string Order(const std::vector<StageMemory>& stages) { return Text(OverlapCollectives(stages)); }

constexpr ir::Phase kForward = ir::Phase::kForward;
constexpr ir::Phase kMetric = ir::Phase::kMetric;
constexpr ir::Phase kBackward = ir::Phase::kBackward;
constexpr ir::Phase kUpdate = ir::Phase::kUpdate;

TEST(Overlap, AGradientIsReducedWhileTheNextOnesAreComputed) {
  EXPECT_EQ(Order({Work(kBackward, "x", "a"), Work(kBackward, "x", "b"), Work(kBackward, "x", "c"),
                   Reduce(kUpdate, "a"), Work(kUpdate, "a", "p")}),
            "0 <3 1 2 3> | 4");
}

TEST(Overlap, SeveralAreStartedInTheOrderInWhichTheyAreReady) {
  EXPECT_EQ(Order({Work(kBackward, "x", "a"), Work(kBackward, "x", "b"), Work(kBackward, "x", "c"),
                   Reduce(kUpdate, "b"), Reduce(kUpdate, "a"), Work(kUpdate, "ab", "p")}),
            "0 <4 1 <3 2 4> 3> | 5");
}

TEST(Overlap, OneThatComesLaterIsNotInFrontOfTheOthers) {
  // The program has the one that the next stage reads in front of one for which nothing waits, which could start first.
  EXPECT_EQ(
      Order({Work(kBackward, "x", "b"), Work(kBackward, "x", "a"), Work(kBackward, "x", "c"), Reduce(kBackward, "a"),
             Reduce(kBackward, "b"), Work(kBackward, "c", "d"), Work(kBackward, "a", "e"), Work(kBackward, "e", "f")}),
      "0 1 <3 <4 2 5 3> 6 7 4>");
}

// `h` is the host's memory: a value goes there from `a`, whose memory another one takes, and comes back to `b`.
TEST(Overlap, CopiesEndBeforeTheirMemoryIsUsedOnEitherSide) {
  const auto copy = [](ir::Phase phase, const std::string& from, const std::string& to) {
    StageMemory memory = Work(phase, from, to);
    memory.can_overlap = true;
    return memory;
  };
  EXPECT_EQ(Order({Work(kForward, "x", "a"), Work(kForward, "a", "c"), copy(kForward, "a", "h"),
                   Work(kForward, "c", "d"), Work(kForward, "d", "a"), Work(kForward, "a", "e")}),
            "0 <2 1 3 2> 4 5");
  EXPECT_EQ(Order({Work(kBackward, "b", "c"), Work(kBackward, "c", "d"), copy(kBackward, "h", "b"),
                   Work(kBackward, "d", "e"), Work(kBackward, "b", "f")}),
            "0 <2 1 3 2> 4");
  // The place on the host is taken again.
  EXPECT_EQ(Order({copy(kBackward, "a", "h"), copy(kBackward, "h", "b"), Work(kBackward, "c", "d"),
                   Work(kBackward, "d", "e"), Work(kBackward, "b", "f")}),
            "0 <1 2 3 1> 4");
}

TEST(Overlap, WhatIsNeededAtOnceRuns) {
  EXPECT_EQ(Order({Work(kForward, "x", "a"), Reduce(kForward, "a"), Work(kForward, "a", "b")}), "0 1 2");
}

TEST(Overlap, ItIsFinishedBeforeTheFirstThatTouchesItsMemory) {
  EXPECT_EQ(Order({Work(kForward, "x", "a"), Work(kForward, "x", "b"), Reduce(kForward, "a"), Work(kForward, "b", "c"),
                   Work(kForward, "a", "d"), Work(kForward, "d", "e")}),
            "0 <2 1 3 2> 4 5");
  // Memory that the gather only reads may be read beside it, but not written.
  const StageMemory gather = {.phase = kForward, .reads = Named("a"), .writes = Named("b"), .can_overlap = true};
  EXPECT_EQ(Order({Work(kForward, "x", "a"), gather, Work(kForward, "a", "c"), Work(kForward, "x", "a")}),
            "0 <1 2 1> 3");
}

TEST(Overlap, MemoryThatIsSharedWithOthersCounts) {
  // The gather writes to memory of a value that is read before it.
  const StageMemory gather = {.phase = kForward, .reads = Named("p"), .writes = {{32, 96}}, .can_overlap = true};
  EXPECT_EQ(Order({Work(kForward, "x", "d"), Work(kForward, "b", "e"), Work(kForward, "x", "f"), gather}),
            "0 1 <3 2 3>");
}

TEST(Overlap, PhasesThatRunAloneKeepTheirCollectives) {
  EXPECT_EQ(Order({Work(kForward, "x", "a"), Work(kForward, "x", "b"), Reduce(kMetric, "a"), Reduce(kBackward, "b")}),
            "0 1 2 3");
}

TEST(Overlap, TheLossIsReadBeforeTheUpdateTouchesItsMemory) {
  // The result of the gather lies where the loss does.
  const StageMemory gather = {.phase = kUpdate, .reads = Named("g"), .writes = Named("l"), .can_overlap = true};
  const StageMemory results = {.phase = kUpdate, .reads = Named("l"), .is_work = false};
  EXPECT_EQ(Order({Work(kBackward, "x", "g"), Work(kBackward, "x", "h"), results, gather, Work(kUpdate, "l", "p")}),
            "0 1 | 2 3 4");
}

TEST(Overlap, NothingIsGainedBesideWhatIsNoWork) {
  StageMemory reshape = Work(kForward, "", "");
  reshape.is_work = false;
  EXPECT_EQ(Order({Work(kForward, "x", "a"), reshape, Reduce(kForward, "a"), Work(kForward, "a", "b")}), "0 2 1 3");
}

// Expects that any two stages that share memory keep their order, and that no stage uses memory of a collective that is
// under way.
void ExpectSound(const std::vector<StageMemory>& stages, const std::vector<StageAction>& actions) {
  const auto meet = [](const Ranges& a, const Ranges& b) {
    for (const MemoryRange& x : a) {
      for (const MemoryRange& y : b) {
        if (x.Meets(y)) return true;
      }
    }
    return false;
  };
  const auto ordered = [&](int i, int j) {
    const StageMemory& a = stages[static_cast<size_t>(i)];
    const StageMemory& b = stages[static_cast<size_t>(j)];
    return meet(a.writes, b.reads) || meet(a.writes, b.writes) || meet(a.reads, b.writes);
  };
  std::set<int> begun, under_way;
  for (const StageAction& action : actions) {
    if (action.what == What::kFinish) {
      EXPECT_EQ(under_way.erase(action.stage), 1u);
      continue;
    }
    EXPECT_TRUE(begun.insert(action.stage).second) << "twice";
    for (const int other : begun) {
      if (ordered(other, action.stage)) {
        EXPECT_LE(other, action.stage);
      }
    }
    for (const int other : under_way) {
      EXPECT_FALSE(ordered(other, action.stage));
      EXPECT_EQ(actions[static_cast<size_t>(&action - actions.data())].phase, action.phase);
    }
    if (action.what == What::kStart) under_way.insert(action.stage);
  }
  EXPECT_EQ(begun.size(), stages.size());
  EXPECT_TRUE(under_way.empty());
}

TEST(Overlap, RandomStagesKeepTheirMeaning) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<StageMemory> stages;
    const auto range = [&]() -> MemoryRange {
      const auto begin = static_cast<int64_t>(random() % 20);
      return {begin, begin + 1 + static_cast<int64_t>(random() % 3)};
    };
    for (const ir::Phase phase : {kForward, kMetric, kBackward, kUpdate}) {
      for (uint32_t i = random() % 8; i > 0; --i) {
        stages.push_back({.phase = phase, .reads = {range()}, .writes = {range()}, .can_overlap = random() % 2 == 0});
      }
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ExpectSound(stages, OverlapCollectives(stages));
  }
}

}  // namespace
}  // namespace cleave::codegen
