#include "ir/program/schedule/buffers.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

ValueId V(int64_t id) { return ValueId(id); }

BufferRequest Request(int64_t id, int64_t size) { return {.value = V(id), .size = Bytes(size)}; }

TEST(PlanBuffers, NothingNeedsNothing) {
  EXPECT_EQ(PlanBuffers({}, {}, {}).total, Bytes(0));
  EXPECT_EQ(PeakDemand({}, {}).bytes, Bytes(0));
}

TEST(PlanBuffers, ValuesOfDifferentTimesShareMemory) {
  // 0 -> 1 -> 2 -> 3: at most two are needed at once.
  const std::vector<Stage> stages = {{{}, {V(0)}}, {{V(0)}, {V(1)}}, {{V(1)}, {V(2)}}, {{V(2)}, {V(3)}}};
  const std::vector<BufferRequest> requests = {Request(0, 640), Request(1, 640), Request(2, 640), Request(3, 640)};
  const BufferPlan plan = PlanBuffers(stages, requests, {});
  EXPECT_EQ(plan.total, Bytes(1280));
  EXPECT_EQ(plan.Find(V(0))->offset, plan.Find(V(2))->offset);
  EXPECT_EQ(PeakDemand(stages, requests).bytes, Bytes(1280));
  EXPECT_EQ(plan.Find(V(4)), nullptr);
}

TEST(PlanBuffers, AnInputThatNoStageWritesLivesFromTheStart) {
  const std::vector<Stage> stages = {{{}, {V(1)}}, {{V(0), V(1)}, {V(2)}}};
  const std::vector<BufferRequest> requests = {Request(0, 64), Request(1, 64), Request(2, 64)};
  EXPECT_EQ(PlanBuffers(stages, requests, {}).total, Bytes(192));
}

TEST(PlanBuffers, AlwaysLiveIsNeverShared) {
  const std::vector<Stage> stages = {{{}, {V(0)}}, {{V(0)}, {}}, {{}, {V(1)}}};
  std::vector<BufferRequest> requests = {Request(0, 64), Request(1, 64)};
  EXPECT_EQ(PlanBuffers(stages, requests, {}).total, Bytes(64));
  requests[1].always_live = true;
  EXPECT_EQ(PlanBuffers(stages, requests, {}).total, Bytes(128));
}

TEST(PlanBuffers, ABucketIsContiguousInItsOrder) {
  const std::vector<Stage> stages = {{{}, {V(0)}}, {{}, {V(1)}}, {{}, {V(2)}}, {{V(0), V(1), V(2)}, {}}};
  const std::vector<BufferRequest> requests = {Request(0, 100), Request(1, 5000), Request(2, 40)};
  const BufferPlan plan = PlanBuffers(stages, requests, {{V(2), V(0), V(1)}});
  const int64_t begin = plan.Find(V(2))->offset;
  EXPECT_EQ(plan.Find(V(0))->offset, begin + 64);
  EXPECT_EQ(plan.Find(V(1))->offset, begin + 64 + 128);
}

struct BufferProblem {
  std::vector<Stage> stages;
  std::vector<BufferRequest> requests;
  std::vector<Bucket> buckets;
  std::vector<Family> families = {};
};

BufferProblem RandomProblem(std::mt19937& random) {
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  BufferProblem result;
  const int64_t values = 1 + below(40);
  int64_t written = std::min(below(3), values - 1);  // The first few are sources.
  for (int64_t i = 0; i < values; ++i) {
    BufferRequest request = Request(i, below(3) == 0 ? below(64) : below(4000));
    request.always_live = i < written && below(2) == 0;
    result.requests.push_back(request);
  }
  while (written < values) {
    Stage stage;
    for (int64_t reads = below(4); reads > 0 && written > 0; --reads) stage.reads.push_back(V(below(written)));
    for (int64_t writes = 1 + below(2); writes > 0 && written < values; --writes) stage.writes.push_back(V(written++));
    result.stages.push_back(stage);
  }
  // Families of neighbours: of layers that run one after another, or of tensors that live together.
  for (int64_t first = 0; first + 5 < values && below(2) == 0; first += 6) {
    Family family;
    for (int64_t i = first; i <= first + 1 + below(2); ++i) family.push_back(V(i));
    for (const ValueId value : family) {
      result.requests[static_cast<size_t>(value.value())].size = result.requests[static_cast<size_t>(first)].size;
    }
    result.families.push_back(std::move(family));
  }
  const bool is_free = result.families.empty() || result.families.back().back() < V(values - 4);
  if (values > 6 && is_free && below(2) == 0) result.buckets.push_back({V(values - 1), V(values - 4), V(values - 3)});
  return result;
}

struct Range {
  int64_t first;
  int64_t last;
};

// A slow reference: from the first stage that touches the value to the last.
Range NaiveRange(const BufferProblem& example, const BufferRequest& request) {
  const int64_t stages = static_cast<int64_t>(example.stages.size());
  if (request.always_live) return {0, stages - 1};
  Range range = {stages, -1};
  for (int64_t i = 0; i < stages; ++i) {
    const Stage& stage = example.stages[static_cast<size_t>(i)];
    const bool reads = std::count(stage.reads.begin(), stage.reads.end(), request.value) > 0;
    const bool writes = std::count(stage.writes.begin(), stage.writes.end(), request.value) > 0;
    if (reads && range.last < 0) range.first = 0;
    if (writes && range.last < 0) range.first = i;
    if (reads || writes) range.last = i;
  }
  return range;
}

// At equal distances, or in turns.
void ExpectRegular(const BufferPlan& plan, const Family& family) {
  const auto offset = [&](size_t i) { return plan.Find(family[i])->offset; };
  bool in_turns = true;
  bool at_distances = true;
  for (size_t i = 2; i < family.size(); ++i) {
    in_turns &= offset(i) == offset(i - 2);
    at_distances &= offset(i) - offset(i - 1) == offset(1) - offset(0);
  }
  EXPECT_TRUE(in_turns || at_distances) << "from value " << family[0].value();
}

// A bucket for each layer: the buckets lie at equal distances, and the values of each one after another.
TEST(PlanBuffers, BucketsOfLayersLieAtEqualDistances) {
  constexpr int64_t kLayers = 4;
  std::vector<BufferRequest> requests;
  Stage last;
  std::vector<Stage> stages;
  std::vector<Bucket> buckets;
  Family firsts;
  for (int64_t i = 0; i < kLayers; ++i) {
    requests.push_back(Request(2 * i, 100));
    requests.push_back(Request(2 * i + 1, 64));
    stages.push_back({.reads = {}, .writes = {V(2 * i), V(2 * i + 1)}});
    buckets.push_back({V(2 * i), V(2 * i + 1)});
    firsts.push_back(V(2 * i));
    last.reads.insert(last.reads.end(), buckets.back().begin(), buckets.back().end());
  }
  stages.push_back(last);
  const BufferPlan plan = PlanBuffers(stages, requests, buckets, {firsts});
  ExpectRegular(plan, firsts);
  for (const Bucket& bucket : buckets) EXPECT_EQ(plan.Find(bucket[1])->offset, plan.Find(bucket[0])->offset + 128);
  EXPECT_EQ(plan.total, Bytes(kLayers * 192));
}

// Each layer has a temporary value and one that the backward pass reads, which makes a gradient that stays.
TEST(PlanBuffers, LayersLieAtEqualDistances) {
  constexpr int64_t kLayers = 5;
  std::vector<BufferRequest> requests;
  std::vector<Stage> stages;
  Family temporary, kept, gradients;
  for (int64_t i = 0; i < kLayers; ++i) {
    temporary.push_back(V(i));
    kept.push_back(V(kLayers + i));
    gradients.push_back(V(2 * kLayers + i));
  }
  for (int64_t i = 0; i < 3 * kLayers; ++i) requests.push_back(Request(i, i < kLayers ? 640 : 64));
  for (size_t i = 0; i < kLayers; ++i) {
    stages.push_back({.reads = {}, .writes = {temporary[i]}});
    stages.push_back({.reads = {temporary[i]}, .writes = {kept[i]}});
  }
  for (size_t i = kLayers; i-- > 0;) stages.push_back({.reads = {kept[i]}, .writes = {gradients[i]}});
  stages.push_back({.reads = gradients, .writes = {}});
  const BufferPlan plan = PlanBuffers(stages, requests, {}, {temporary, kept, gradients});
  for (const Family& family : {temporary, kept, gradients}) ExpectRegular(plan, family);
  EXPECT_EQ(plan.Find(temporary[0])->offset, plan.Find(temporary[4])->offset);
  EXPECT_EQ(plan.Find(kept[1])->offset - plan.Find(kept[0])->offset, 64);
  // A gradient lies where the layer behind kept its value, or where the temporary values were.
  EXPECT_EQ(plan.total, Bytes(640 + 64 * kLayers));
}

// Each layer has a value that waits for the backward pass, which makes another one; that of the first layer waits too.
TEST(CutFamilies, AValueThatLivesForLongerHoldsNoPlacesOfOthers) {
  constexpr int64_t kLayers = 8;
  std::vector<BufferRequest> requests;
  std::vector<Stage> stages;
  Family waiting, made;
  for (int64_t i = 0; i < kLayers; ++i) {
    waiting.push_back(V(i));
    made.push_back(V(kLayers + i));
    stages.push_back({.reads = {}, .writes = {waiting.back()}});
  }
  for (int64_t i = 0; i < 2 * kLayers; ++i) requests.push_back(Request(i, 64));
  stages[0].writes.push_back(made[0]);
  for (size_t i = kLayers; i-- > 0;) {
    if (i > 0) stages.push_back({.reads = {waiting[i]}, .writes = {made[i]}});
    stages.push_back({.reads = {waiting[i], made[i]}, .writes = {}});
  }
  const std::vector<Family> families = {waiting, made};
  EXPECT_EQ(PlanBuffers(stages, requests, {}, families).total, Bytes(2 * kLayers * 64));
  const std::vector<Family> cut = CutFamilies(stages, requests, {}, families);
  EXPECT_EQ(cut, (std::vector<Family>{waiting, {made[0], made[1]}, {made.begin() + 2, made.end()}}));
  EXPECT_EQ(PlanBuffers(stages, requests, {}, cut).total, Bytes((kLayers + 2) * 64));
}

TEST(PlanBuffers, RandomStagesNeverOverlapAndStayNearTheLowerBound) {
  double ratio_sum = 0;
  int ratios = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const BufferProblem example = RandomProblem(random);
    const BufferPlan plan = PlanBuffers(example.stages, example.requests, example.buckets, example.families);
    for (const Family& family : example.families) ExpectRegular(plan, family);
    ASSERT_EQ(plan.buffers.size(), example.requests.size());
    for (const BufferRequest& a : example.requests) {
      const BufferPlan::Buffer& at = *plan.Find(a.value);
      EXPECT_EQ(at.offset % BufferPlan::kAlignment, 0);
      EXPECT_LE(at.offset + at.size.value(), plan.total.value());
      const Range range_a = NaiveRange(example, a);
      for (const BufferRequest& b : example.requests) {
        if (b.value <= a.value || a.size.value() == 0 || b.size.value() == 0) continue;
        const Range range_b = NaiveRange(example, b);
        if (range_a.first > range_b.last || range_b.first > range_a.last) continue;
        const BufferPlan::Buffer& bt = *plan.Find(b.value);
        EXPECT_TRUE(at.offset + at.size.value() <= bt.offset || bt.offset + bt.size.value() <= at.offset)
            << "values " << a.value.value() << " and " << b.value.value() << " overlap";
      }
    }
    // The demand by the naive ranges.
    int64_t peak = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(example.stages.size()); ++i) {
      int64_t demand = 0;
      for (const BufferRequest& request : example.requests) {
        const Range range = NaiveRange(example, request);
        if (range.first <= i && i <= range.last) demand += request.size.value();
      }
      peak = std::max(peak, demand);
    }
    EXPECT_EQ(PeakDemand(example.stages, example.requests).bytes, Bytes(peak));
    EXPECT_GE(plan.total.value(), peak);
    if (example.buckets.empty() && peak > 0) {
      ratio_sum += static_cast<double>(plan.total.value()) / static_cast<double>(peak);
      ++ratios;
    }
    const BufferPlan again = PlanBuffers(example.stages, example.requests, example.buckets, example.families);
    for (size_t i = 0; i < plan.buffers.size(); ++i) EXPECT_EQ(plan.buffers[i].offset, again.buffers[i].offset);
  }
  EXPECT_LT(ratio_sum / ratios, 1.15);
}

}  // namespace
}  // namespace cleave::ir
