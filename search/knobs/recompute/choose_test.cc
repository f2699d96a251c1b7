#include "search/knobs/recompute/choose.h"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cleave::search {
namespace {

constexpr int64_t kWork = int64_t{1} << 23;

// `length` stages forward, each of which makes one value from earlier ones, at times in the memory of the last one, and
// as many backward, in the opposite order, each of which makes a gradient from that of the stage behind it and from
// some of what its stage read and made.
Liveness RandomStep(int length, std::mt19937_64& random) {
  const auto draw = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
  std::vector<Liveness::Stored> values;
  std::vector<Liveness::ForwardStage> forward;
  std::vector<Unit> units;
  const int places = 2 * length;
  const auto read_backward = [&](int value, int place) {
    Liveness::Stored& stored = values[static_cast<size_t>(value)];
    stored.backward_begin = std::min(stored.backward_begin, place);
    stored.backward_end = std::max(stored.backward_end, place);
  };
  for (int i = 0; i < length; ++i) {
    Liveness::ForwardStage stage{.place = i,
                                 .seconds = Seconds(static_cast<double>(1 + draw(20))),
                                 .least = Seconds(static_cast<double>(draw(2))),
                                 .may_join = draw(3) == 0,
                                 .reads = {},
                                 .writes = {i},
                                 .unit = draw(12) == 0 ? -1 : i,
                                 .name = absl::StrCat("stage_", i),
                                 .text = static_cast<ir::TextPlace>(i)};
    const int backward = places - 1 - i;
    if (i > 0 && (i < 3 || draw(5) > 0)) stage.reads.push_back(i - 1);
    if (i > 2 && draw(3) == 0) stage.reads.push_back(static_cast<int>(draw(i - 1)));
    values.push_back({.size = Bytes(64 * (1 + draw(30))), .writer = i, .made_by = i});
    for (const int read : stage.reads) {
      Liveness::Stored& value = values[static_cast<size_t>(read)];
      value.forward_end = std::max(value.forward_end, i);
      if (draw(2) == 0) read_backward(read, backward);
    }
    if (draw(2) == 0) read_backward(i, backward);
    if (i > 0 && draw(4) == 0) {
      values.back().overwrites = i - 1;
      values.back().size = values[static_cast<size_t>(i - 1)].size;
    }
    forward.push_back(std::move(stage));
    units.push_back({.stages = {i}, .ops = {}, .retention = ir::Retention::kRecompute, .copies = {}});
    // One that sends the value of another again goes with it.
    if (i > 2 && draw(8) == 0) {
      const auto other = static_cast<size_t>(draw(i - 1));
      if (forward[other].unit >= 0) units[other].copies.push_back(i);
    }
  }
  for (int i = 0; i < length; ++i) {
    const int place = length + i;
    values.push_back({.size = Bytes(64 * (1 + draw(10))),
                      .writer = place,
                      .backward_begin = std::min(place + 1, places - 1),
                      .backward_end = std::min(place + 1, places - 1)});
    // A gradient in the memory of the value of its stage.
    if (draw(4) == 0 && values[static_cast<size_t>(length - 1 - i)].backward_end == place) {
      values.back().overwrites = length - 1 - i;
      values.back().size = values[static_cast<size_t>(length - 1 - i)].size;
    }
  }
  return Liveness(places, Bytes(1000), std::move(values), std::move(forward), std::move(units));
}

std::optional<Seconds> LeastTime(const Liveness& step, Bytes limit) {
  std::optional<Seconds> least;
  std::vector<bool> again(step.units().size(), false);
  for (uint64_t bits = 0; bits < uint64_t{1} << again.size(); ++bits) {
    for (size_t u = 0; u < again.size(); ++u) again[u] = (bits >> u & 1) != 0;
    for (size_t u = 0; u < again.size(); ++u) {
      if ((bits >> u & 1) == 0) continue;
      for (const int copy : step.units()[u].copies) again[static_cast<size_t>(copy)] = true;
    }
    const Outcome outcome = step.Of(again, limit);
    if (outcome.peak <= limit && (!least.has_value() || outcome.seconds < *least)) least = outcome.seconds;
  }
  return least;
}

// Against all sets.
TEST(ChooserTest, FindsTheFastestSetThatFits) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    const int length = 4 + static_cast<int>(random() % 11);
    const Liveness step = RandomStep(length, random);
    const Bytes peak = step.Of(std::vector<bool>(static_cast<size_t>(length), false), Bytes(0)).peak;
    const Bytes limit(peak.value() * static_cast<int64_t>(50 + random() % 50) / 100);
    const std::optional<Seconds> least = LeastTime(step, limit);
    const std::optional<std::vector<bool>> found = Chooser(step, kWork).Cheapest(limit);
    ASSERT_EQ(found.has_value(), least.has_value()) << "round " << round;
    if (!least.has_value()) continue;
    const Outcome outcome = step.Of(*found, limit);
    EXPECT_LE(outcome.peak, limit);
    EXPECT_EQ(outcome.seconds, *least) << "round " << round;
  }
}

// Sets are measured by what the outcomes say, and by times that grow with them.
TEST(ChooserTest, MeasuresTheFastestSetThatFits) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int64_t all = 0, measured = 0;
  for (int round = 0; round < 60; ++round) {
    const int length = 4 + static_cast<int>(random() % 7);
    const Liveness step = RandomStep(length, random);
    const Bytes peak = step.Of(std::vector<bool>(static_cast<size_t>(length), false), Bytes(0)).peak;
    const Bytes limit(peak.value() * static_cast<int64_t>(50 + random() % 50) / 100);
    std::optional<Seconds> best;
    Chooser(step, kWork)
        .MeasureFasterThan(std::nullopt, limit, [&](const std::vector<bool>& again) -> std::optional<Seconds> {
          ++measured;
          const Outcome outcome = step.Of(again, limit);
          if (outcome.peak > limit) return std::nullopt;
          best = std::min(best.value_or(outcome.seconds), outcome.seconds);
          return outcome.seconds;
        });
    EXPECT_EQ(best, LeastTime(step, limit)) << "round " << round;
    all += int64_t{1} << length;
  }
  EXPECT_LT(measured * 4, all);
}

TEST(ChooserTest, FindsTheSmallestPeak) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  double bounds = 0;
  constexpr int kRounds = 30;
  for (int round = 0; round < kRounds; ++round) {
    const Liveness step = RandomStep(4 + static_cast<int>(random() % 9), random);
    Chooser chooser(step, kWork);
    const Outcome found = step.Of(chooser.Smallest(), Bytes(0));
    EXPECT_EQ(LeastTime(step, found.peak), found.seconds);
    EXPECT_EQ(LeastTime(step, found.peak - Bytes(1)), std::nullopt);
    EXPECT_LE(chooser.LeastPeak(), found.peak);
    bounds += static_cast<double>(chooser.LeastPeak().value()) / static_cast<double>(found.peak.value());
  }
  EXPECT_GT(bounds / kRounds, 0.7);
}

// Only what differs from a step that makes nothing again is looked at for an outcome; here all values are, place by
// place.
TEST(LivenessTest, BytesAreThoseOfAllValues) {
  std::mt19937_64 random(23);
  for (int round = 0; round < 2000; ++round) {
    const int length = 4 + static_cast<int>(random() % 20);
    const Liveness step = RandomStep(length, random);
    std::vector<bool> again(step.units().size());
    const uint64_t rare = 1 + random() % 8;
    for (size_t u = 0; u < again.size(); ++u) again[u] = random() % rare == 0 && step.forward()[u].unit >= 0;
    // Where the backward half reads each value: what is made again is made in front of the first reading of it.
    std::vector<int> first, last;
    for (const Liveness::Stored& value : step.values()) {
      first.push_back(value.backward_begin);
      last.push_back(value.backward_end);
    }
    for (size_t i = step.forward().size(); i-- > 0;) {
      if (!again[i] || first[i] == Liveness::Stored::kNever) continue;
      for (const int read : step.forward()[i].reads) {
        first[static_cast<size_t>(read)] = std::min(first[static_cast<size_t>(read)], first[i]);
        last[static_cast<size_t>(read)] = std::max(last[static_cast<size_t>(read)], first[i]);
      }
    }
    const auto is_again = [&](size_t v) { return v < again.size() && again[v]; };
    const auto end_of = [&](size_t v) {
      const Liveness::Stored& value = step.values()[v];
      return std::max(value.writer, !is_again(v) && last[v] >= 0 ? last[v] : value.forward_end);
    };
    int64_t peak = 0;
    for (int place = 0; place < 2 * length; ++place) {
      int64_t live = 1000;
      for (size_t v = 0; v < step.values().size(); ++v) {
        const Liveness::Stored& value = step.values()[v];
        const auto other = static_cast<size_t>(std::max(0, value.overwrites));
        const bool shares = value.overwrites >= 0 && (end_of(other) == value.writer || last[other] == value.writer);
        const bool is_delayed = is_again(v) && value.forward_end < 0 && last[v] >= 0;
        const int begin = value.writer + (shares ? 1 : 0);
        if (!is_delayed && begin <= place && place <= end_of(v)) live += value.size.value();
        if (is_again(v) && last[v] >= 0 && first[v] <= place && place <= last[v]) live += value.size.value();
      }
      peak = std::max(peak, live);
    }
    EXPECT_EQ(step.Of(again, Bytes(0)).peak, Bytes(peak)) << round;
  }
}

// Every bound holds for every set that it is about.
TEST(LivenessTest, BoundsHoldForAllSets) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const Liveness step = RandomStep(8, random);
    std::vector<bool> again(8), possible(8), set(8);
    for (size_t u = 0; u < 8; ++u) {
      again[u] = random() % 3 == 0;
      possible[u] = again[u] || random() % 2 == 0;
      set[u] = again[u] || (possible[u] && random() % 2 == 0);
    }
    const auto bounded = round % 2 == 0 ? Liveness::Bounded::kOutcome : Liveness::Bounded::kProgram;
    const Liveness::Bounds bounds = step.BoundsOf(again, possible, bounded);
    std::vector<int64_t> live = bounds.live;
    Seconds seconds = bounds.seconds;
    for (size_t u = 0; u < 8; ++u) {
      if (!set[u]) continue;
      seconds += bounds.units[u].seconds;
      for (const Liveness::Interval& freed : bounds.units[u].frees) {
        for (int place = freed.begin; place <= freed.end; ++place)
          live[static_cast<size_t>(place)] -= freed.size.value();
      }
    }
    const Outcome outcome = step.Of(set, Bytes(0));
    EXPECT_LE(seconds, outcome.seconds);
    EXPECT_LE(*std::max_element(live.begin(), live.end()), outcome.peak.value());
  }
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
                       .name = absl::StrCat("stage_", i),
                       .text = static_cast<ir::TextPlace>(i)});
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
