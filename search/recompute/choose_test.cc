#include "search/recompute/choose.h"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cleave::search {
namespace {

constexpr int64_t kWork = int64_t{1} << 23;

// `length` stages forward, each of which makes one value from earlier ones, and as many backward, in the opposite
// order, each of which makes a gradient from that of the stage behind it and from some of what its stage read and made.
Liveness RandomStep(int length, std::mt19937_64& random) {
  const auto draw = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
  std::vector<Liveness::Stored> values;
  std::vector<Liveness::ForwardStage> forward;
  std::vector<Unit> units;
  const int places = 2 * length;
  for (int i = 0; i < length; ++i) {
    Liveness::ForwardStage stage{.place = i,
                                 .seconds = Seconds(static_cast<double>(1 + draw(20))),
                                 .reads = {},
                                 .writes = {i},
                                 .unit = i,
                                 .name = absl::StrCat("stage_", i)};
    const int backward = places - 1 - i;
    if (i > 0) stage.reads.push_back(i - 1);
    if (i > 2 && draw(3) == 0) stage.reads.push_back(static_cast<int>(draw(i - 1)));
    values.push_back({.size = Bytes(64 * (1 + draw(30))), .writer = i, .made_by = i});
    for (const int read : stage.reads) {
      Liveness::Stored& value = values[static_cast<size_t>(read)];
      value.forward_end = std::max(value.forward_end, i);
      if (draw(2) == 0) {
        value.backward_begin = std::min(value.backward_begin, backward);
        value.backward_end = std::max(value.backward_end, backward);
      }
    }
    if (draw(2) == 0) {
      values.back().backward_begin = backward;
      values.back().backward_end = backward;
    }
    forward.push_back(std::move(stage));
    units.push_back({.stages = {i}, .ops = {}, .retention = ir::Retention::kRecompute, .copies = {}});
  }
  for (int i = 0; i < length; ++i) {
    const int place = length + i;
    values.push_back({.size = Bytes(64 * (1 + draw(10))),
                      .writer = place,
                      .backward_begin = std::min(place + 1, places - 1),
                      .backward_end = std::min(place + 1, places - 1)});
  }
  return Liveness(places, Bytes(1000), std::move(values), std::move(forward), std::move(units));
}

std::optional<Seconds> LeastTime(const Liveness& step, Bytes limit) {
  std::optional<Seconds> least;
  std::vector<bool> again(step.units().size(), false);
  for (uint64_t bits = 0; bits < uint64_t{1} << again.size(); ++bits) {
    for (size_t u = 0; u < again.size(); ++u) again[u] = (bits >> u & 1) != 0;
    const Outcome outcome = step.Of(again, limit);
    if (outcome.peak <= limit && (!least.has_value() || outcome.seconds < *least)) least = outcome.seconds;
  }
  return least;
}

// Against all sets, with few stages, where the answer must be the best one, and with more, where it must be near.
TEST(ChooserTest, FindsTheFastestSetThatFits) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int many = 0, near = 0, missed = 0;
  for (int round = 0; round < 60; ++round) {
    const int length = round < 30 ? 4 + static_cast<int>(random() % 7) : 14;
    const Liveness step = RandomStep(length, random);
    const Bytes peak = step.Of(std::vector<bool>(static_cast<size_t>(length), false), Bytes(0)).peak;
    const Bytes limit(peak.value() * static_cast<int64_t>(50 + random() % 50) / 100);
    const std::optional<Seconds> least = LeastTime(step, limit);
    const std::optional<std::vector<bool>> found = Chooser(step, kWork).Cheapest(limit);
    const bool is_many = length > Chooser::kMostExact;
    if (!is_many) {
      ASSERT_EQ(found.has_value(), least.has_value()) << "round " << round;
    }
    if (!least.has_value()) continue;
    many += is_many;
    missed += !found.has_value();
    if (!found.has_value()) continue;
    const Outcome outcome = step.Of(*found, limit);
    EXPECT_LE(outcome.peak, limit);
    EXPECT_GE(outcome.seconds, *least);
    if (!is_many) {
      EXPECT_EQ(outcome.seconds, *least) << "round " << round;
    }
    near += is_many && outcome.seconds.value() <= least->value() * 1.01;
  }
  EXPECT_LE(missed, many / 10) << "of " << many;
  EXPECT_GE(near, many * 8 / 10) << "of " << many;
}

// A chain of equal values, each of which the backward pass reads: with recomputation from every k-th one, k values and
// the kept ones are alive. Chen, Xu, Zhang and Guestrin, Training Deep Nets with Sublinear Memory Cost (2016).
TEST(ChooserTest, AChainNeedsAboutTwiceTheRootOfItsLength) {
  constexpr int kLength = 25;
  std::vector<Liveness::Stored> values;
  std::vector<Liveness::ForwardStage> forward;
  std::vector<Unit> units;
  for (int i = 0; i < kLength; ++i) {
    const int backward = 2 * kLength - 1 - i;
    values.push_back({.size = Bytes(100),
                      .writer = i,
                      .forward_end = i + 1 < kLength ? i + 1 : -1,
                      .backward_begin = backward,
                      .backward_end = backward,
                      .made_by = i});
    forward.push_back({.place = i,
                       .seconds = Seconds(1),
                       .reads = i > 0 ? std::vector<int>{i - 1} : std::vector<int>(),
                       .writes = {i},
                       .unit = i,
                       .name = absl::StrCat("stage_", i)});
    units.push_back({.stages = {i}, .ops = {}, .retention = ir::Retention::kRecompute, .copies = {}});
  }
  const Liveness step(2 * kLength, Bytes(0), values, forward, units);
  Chooser chooser(step, kWork);
  const Outcome outcome = step.Of(chooser.Smallest(), Bytes(0));
  EXPECT_LE(outcome.peak, Bytes(1100));
  EXPECT_LE(outcome.seconds, Seconds(kLength));
}

TEST(ChooserTest, KeepsToWhatTheUserAsksFor) {
  std::mt19937_64 random(7);
  const Liveness free = RandomStep(8, random);
  const Bytes peak = free.Of(std::vector<bool>(8, false), Bytes(0)).peak;
  std::vector<Unit> units = free.units();
  units[2].asked = true;
  units[5].asked = false;
  const Liveness step(16, Bytes(1000), free.values(), free.forward(), units);
  for (int percent = 100; percent > 40; percent -= 5) {
    const std::optional<std::vector<bool>> found = Chooser(step, kWork).Cheapest(Bytes(peak.value() * percent / 100));
    if (!found.has_value()) continue;
    EXPECT_TRUE((*found)[2]);
    EXPECT_FALSE((*found)[5]);
  }
}

}  // namespace
}  // namespace cleave::search
