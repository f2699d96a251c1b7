// Tests that searches under a limit of memory find the fastest program that fits, on small random graphs where all
// programs can be made. CLEAVE_TEST_SEED sets other graphs, CLEAVE_TEST_MODELS another number of them.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "gtest/gtest.h"
#include "ir/graph/text.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/testing/seed.h"
#include "search/knobs/memory/memory.h"
#include "search/model/tuning/tuning.h"
#include "search/oracle/programs.h"
#include "search/search.h"
#include "search/testing/small_graphs.h"

namespace cleave::search {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Size {
  int64_t models = 5;
  int64_t most_plans = 40;  // Of one model.
};

// Each run tests the same graphs, unless it is told otherwise.
uint64_t FirstSeed() { return std::getenv("CLEAVE_TEST_SEED") == nullptr ? 1 : ir::TestSeed(); }

Size SizeOfTest() {
  const char* const asked = std::getenv("CLEAVE_TEST_MODELS");
  if (asked == nullptr) return {};
  Size size{.most_plans = 1000};
  CLEAVE_CHECK(absl::SimpleAtoi(asked, &size.models)) << asked;
  return size;
}

bool IsInForward(const ir::Op& op) {
  return op.phase == ir::Phase::kForward && op.kind != ir::OpKind::kInput && op.kind != ir::OpKind::kParameter;
}

struct Comparison {
  uint64_t seed = 0;
  int64_t ops = 0;
  double ratio = 1;  // Of the predicted time found to the least one; infinite where nothing was found.
  std::string text;
};

// A graph, a cluster and a limit.
class Sample {
 public:
  explicit Sample(uint64_t seed, const SearchTuning& tuning = {})
      : seed_(seed),
        tuning_(tuning),
        is_large_(seed % 4 == 0),
        graph_(testing::RandomSmallGraph(
            seed, {.most_products = is_large_ ? 7 : 3, .most_light_ops = is_large_ ? 8 : 2, .largest_size = 96})),
        cluster_(CpuCluster(is_large_       ? 1
                            : seed % 3 == 0 ? 4
                                            : 2)) {}

  ProgramsTask Task() const {
    return {.graph = graph_, .cluster = cluster_, .micro_batches = {1, 2, 4, 8, 16, 32, 64}, .zero = {0, 1, 2, 3}};
  }
  int64_t Plans(int64_t most) const { return PlanCount(Task(), most); }

  // nullopt where no program fits.
  std::optional<Comparison> Compare() const {
    const AllPrograms all(Task());
    const Bytes most = PeakOf(*Found(std::nullopt)), least = all.LeastKeptPeak();
    std::mt19937_64 random(seed_);
    // Recomputation may need less than what a program needs that keeps everything.
    const double low = 0.85 * static_cast<double>(least.value()), high = static_cast<double>(most.value());
    const Bytes limit(static_cast<int64_t>(low + (high - low) * static_cast<double>(random() % 1000) / 1000));
    const std::optional<ir::Plan> plan = Found(limit);
    EXPECT_TRUE(!plan.has_value() || PeakOf(*plan) <= limit) << "seed " << seed_;
    const double found = plan.has_value() ? StepOf(*plan).value() : kNever;
    const std::optional<AllPrograms::Point> best = all.FastestWithin(limit, Seconds(found * (1 - 1e-9)));
    if (!plan.has_value() && !best.has_value()) return std::nullopt;
    Comparison own{.seed = seed_, .ops = std::count_if(graph_.ops.begin(), graph_.ops.end(), IsInForward)};
    if (!best.has_value()) return own;
    own.ratio = found / best->step.value();
    own.text = absl::StrCat(
        "seed ", seed_, ", ", cluster_.devices(), " devices, limit ", limit.value(), " of ", most.value(), " (least ",
        least.value(), "), ", all.size(), " programs\n  found: ",
        plan.has_value() ? absl::StrCat(found, " s, ", PeakOf(*plan).value(), " bytes, ", ProgramText(graph_, *plan))
                         : "nothing",
        "\n  best: ", best->step.value(), " s, ", best->peak.value(), " bytes, ", ProgramText(graph_, best->plan),
        "\n");
    return own;
  }

 private:
  std::optional<ir::Plan> Found(std::optional<Bytes> limit) const {
    SearchOptions options{.price = ir::Price::kTime, .dataset = {}, .zero = std::nullopt, .tuning = tuning_};
    options.choose_micro_batches = !ir::FindBatchUses(graph_).obstacle.has_value();
    ir::Pins pins;
    if (limit.has_value()) pins.settings.memory = ir::Placed<int64_t>{.value = limit->value(), .span = {}};
    Diagnostics diagnostics;
    return Search(graph_, cluster_, pins, options, diagnostics);
  }
  Bytes PeakOf(const ir::Plan& plan) const { return EstimateMemory(graph_, plan).prediction.peak; }
  Seconds StepOf(const ir::Plan& plan) const { return search::StepOf(*ProgramOf(graph_, plan), cluster_, {}); }

  uint64_t seed_;
  SearchTuning tuning_;
  bool is_large_;  // With too many plans for more than one device.
  ir::Graph graph_;
  Cluster cluster_;
};

TEST(LimitsTest, TheFastestProgramThatFitsIsFound) {
  std::vector<Comparison> results;
  int64_t infeasible = 0;
  const Size size = SizeOfTest();
  for (uint64_t seed = FirstSeed(); results.size() < static_cast<size_t>(size.models); ++seed) {
    const Sample sample(seed);
    if (sample.Plans(size.most_plans) > size.most_plans) continue;
    std::optional<Comparison> own = sample.Compare();
    if (own.has_value()) {
      results.push_back(*std::move(own));
    } else {
      ++infeasible;
    }
  }
  std::stable_sort(results.begin(), results.end(),
                   [](const Comparison& a, const Comparison& b) { return a.ratio > b.ratio; });
  std::cout << results.size() << " models, and " << infeasible << " that no program fits:";
  for (const double limit : {1.0, 1.01, 1.05, 1.1, 1.5, 2.0, kNever}) {
    const auto within =
        std::count_if(results.begin(), results.end(), [&](const Comparison& result) { return result.ratio <= limit; });
    std::cout << " " << within << " within " << limit << ";";
  }
  std::cout << "\n";
  constexpr int64_t kSmall = 10;
  constexpr double kNear = 1.01;
  int64_t larger = 0, far = 0;
  for (const Comparison& result : results) {
    if (result.ratio > 1) std::cout << result.ratio << " " << result.ops << " ops " << result.text;
    if (result.ops <= kSmall) {
      EXPECT_EQ(result.ratio, 1) << result.text;
    } else {
      ++larger;
      far += result.ratio > kNear ? 1 : 0;
    }
  }
  std::cout << larger << " of more than " << kSmall << " ops, " << far << " of them not within " << kNear << "\n";
  EXPECT_LE(far * 20, larger);
}

TEST(LimitsTest, FewProgramsAreEnoughToTryAllPlans) {
  struct Case {
    uint64_t seed = 0;
    int64_t tried_ops = 0;
  };
  // The first has 729 plans; few of their programs fit, which send something again and have moved steps.
  for (const Case& own : {Case{90359, 288000}, {130, 15000}, {263, 15000}}) {
    const std::optional<Comparison> result = Sample(own.seed, {.tried_ops = own.tried_ops}).Compare();
    ASSERT_TRUE(result.has_value()) << own.seed;
    EXPECT_EQ(result->ratio, 1) << result->text;
  }
}

}  // namespace
}  // namespace cleave::search
