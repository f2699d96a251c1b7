#include "search/solve/stages/stages.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace cleave::search {
namespace {

TEST(StagesTest, EqualOpsAreDividedEqually) {
  CutTask task{.seconds = std::vector<double>(12, 1.0), .places = {}, .stages = 4, .micro_batches = 8};
  for (int64_t op = 1; op < 12; ++op) task.places.push_back({op, 0});
  EXPECT_EQ(BestCuts(task), (std::vector<int64_t>{3, 6, 9}));
  EXPECT_EQ(StepOfCuts(task, BestCuts(task)), 12 + 7 * 3);
}

TEST(StagesTest, ModelsAreCutWhereLittleIsSent) {
  const CutTask task{.seconds = {1, 1, 1, 1}, .places = {{1, 0.1}, {2, 5}, {3, 0.1}}, .stages = 2, .micro_batches = 4};
  EXPECT_NE(BestCuts(task), (std::vector<int64_t>{2}));
}

// The more micro-batches there are, the more the slowest stage matters, and the less what is sent.
TEST(StagesTest, FewMicroBatchesNeedNotBeDividedEqually) {
  CutTask task{.seconds = {1, 1, 1, 1}, .places = {{1, 0}, {2, 0.75}}, .stages = 2, .micro_batches = 2};
  EXPECT_EQ(BestCuts(task), (std::vector<int64_t>{1}));
  task.micro_batches = 8;
  EXPECT_EQ(BestCuts(task), (std::vector<int64_t>{2}));
}

TEST(StagesTest, UpdatesAreDividedToo) {
  CutTask task{.seconds = {1, 1, 1, 1},
               .once = {3, 3, 0, 0},
               .places = {{1, 0.1}, {2, 0.1}, {3, 0.1}},
               .stages = 2,
               .micro_batches = 2};
  EXPECT_EQ(BestCuts(task), (std::vector<int64_t>{1}));
  task.once.clear();
  EXPECT_EQ(BestCuts(task), (std::vector<int64_t>{2}));
  // Later stages have the time of the last backward passes of earlier ones for it.
  task.once = {0, 0, 2, 2};
  EXPECT_EQ(BestCuts(task), (std::vector<int64_t>{3}));
  task.backward = {1, 1, 1, 1};
  EXPECT_EQ(BestCuts(task), (std::vector<int64_t>{2}));
}

TEST(StagesTest, MoreStagesThanPlacesCannotBe) {
  EXPECT_EQ(BestCuts({.seconds = {1, 1}, .places = {{1, 0}}, .stages = 3}), std::vector<int64_t>());
  EXPECT_EQ(BestCuts({.seconds = {1, 1}, .places = {{1, 0}}, .stages = 1}), std::vector<int64_t>());
}

TEST(StagesTest, NarrowPlacesAreBetweenBlocks) {
  const std::vector<CutPlace> narrow = NarrowPlaces({{1, 3}, {2, 1}, {3, 1}, {4, 4}, {5, 2}, {6, 2.5}});
  std::vector<int64_t> ops;
  for (const CutPlace& place : narrow) ops.push_back(place.op);
  EXPECT_EQ(ops, (std::vector<int64_t>{2, 3, 5}));
}

TEST(StagesTest, ARangeWithoutNarrowPlacesHasAllOfItsOwn) {
  const std::vector<CutPlace> crossing = {{1, 3}, {2, 1}, {3, 1}, {4, 4}, {5, 2}, {6, 2.5}};
  const std::vector<CutPlace> places = NarrowPlaces(crossing, {{.first = 2, .last = 6}, {.first = 6, .last = 6}});
  std::vector<int64_t> ops;
  for (const CutPlace& place : places) ops.push_back(place.op);
  EXPECT_EQ(ops, (std::vector<int64_t>{2, 3, 5, 6}));
}

TEST(StagesTest, RangesLeaveOpenWhatPinsDo) {
  const std::vector<CutRange> ranges = RangesOf({{2, 0}, {4, 2}}, /*ops=*/8, /*stages=*/4);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(std::pair(ranges[0].first, ranges[0].last), std::pair(int64_t{3}, int64_t{4}));
  EXPECT_EQ(std::pair(ranges[1].first, ranges[1].last), std::pair(int64_t{3}, int64_t{4}));
  EXPECT_EQ(std::pair(ranges[2].first, ranges[2].last), std::pair(int64_t{5}, int64_t{7}));
}

// Whether each pinned op is in its stage.
bool Keeps(const std::vector<PinnedOp>& pinned, const std::vector<int64_t>& cuts) {
  return std::all_of(pinned.begin(), pinned.end(), [&](const PinnedOp& pin) {
    return std::upper_bound(cuts.begin(), cuts.end(), pin.op) - cuts.begin() == pin.stage;
  });
}

// Every way to choose the cuts, on random lists, of which some ops are pinned.
TEST(StagesTest, NoOtherCutsAreBetter) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> number(0, 1);
  for (int round = 0; round < 300; ++round) {
    CutTask task{.seconds = {},
                 .places = {},
                 .stages = 2 + static_cast<int>(random() % 4),
                 .micro_batches = 1 + static_cast<int64_t>(random() % 6),
                 .waiting = 0.5 * static_cast<double>(random() % 3)};
    const bool has_updates = random() % 2 == 0;
    const int64_t ops = 2 + static_cast<int64_t>(random() % 9);
    for (int64_t op = 0; op < ops; ++op) {
      task.seconds.push_back(number(random));
      if (has_updates) task.once.push_back(3 * number(random));
      if (has_updates) task.backward.push_back(task.seconds.back() * number(random));
      if (op > 0 && random() % 4 > 0) task.places.push_back({op, number(random) / 4});
    }
    const size_t cuts = static_cast<size_t>(task.stages) - 1;
    std::vector<PinnedOp> pinned;
    int64_t stage = 0;
    for (int64_t op = 0; op < ops; ++op) {
      stage = std::min<int64_t>(task.stages - 1, stage + static_cast<int64_t>(random() % 3 == 0));
      if (random() % 6 == 0) pinned.push_back({op, stage});
    }
    task.ranges = RangesOf(pinned, ops, task.stages);
    bool is_possible = false;
    double best = 1e9;
    for (uint64_t chosen = 0; chosen < (uint64_t{1} << task.places.size()); ++chosen) {
      std::vector<int64_t> ways;
      for (size_t i = 0; i < task.places.size(); ++i) {
        if ((chosen >> i & 1) != 0) ways.push_back(task.places[i].op);
      }
      if (ways.size() != cuts || !Keeps(pinned, ways)) continue;
      is_possible = true;
      best = std::min(best, StepOfCuts(task, ways));
    }
    const std::vector<int64_t> found = BestCuts(task);
    if (!is_possible) {
      EXPECT_TRUE(found.empty());
    } else {
      EXPECT_TRUE(Keeps(pinned, found));
      EXPECT_LE(StepOfCuts(task, found), best * (1 + 1e-4));
    }
  }
}

}  // namespace
}  // namespace cleave::search
