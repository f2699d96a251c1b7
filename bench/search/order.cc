#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/search/tables.h"
#include "search/model/cluster/machines.h"
#include "search/model/cluster/presets.h"
#include "search/testing/hand_plans.h"
#include "search/testing/models.h"

namespace cleave::bench {
namespace {

using search::testing::GptShape;
using search::testing::HandPlan;

constexpr uint64_t kSeed = 1;
constexpr int kPairs = 72;  // On each number of devices.

struct Pair {
  std::string what;
  HandPlan plans[2];
  Seconds steps[2];
  Seconds prices[2];

  // How much longer the second one takes than the first.
  double Step() const { return steps[1].value() / steps[0].value(); }
  double Price() const { return prices[1].value() / prices[0].value(); }
  // By the price one of them is better, and the other by the prediction.
  bool IsOtherwise() const {
    constexpr double kTie = 1.02;
    const auto sign = [](double ratio) { return ratio > kTie ? 1 : ratio < 1 / kTie ? -1 : 0; };
    return sign(Step()) * sign(Price()) < 0;
  }
};

// Two plans of one random model without stages; nullopt where it has fewer.
std::optional<Pair> RandomPair(int64_t devices, std::mt19937_64& random) {
  const auto any = [&](const std::vector<int64_t>& of) { return of[random() % of.size()]; };
  const int64_t width = any({512, 1024, 2048, 4096});
  const GptShape shape = {.batch = devices * any({1, 2, 4}),
                          .seq = any({256, 512, 1024, 2048}),
                          .vocab = any({8192, 32768, 51200}),
                          .width = width,
                          .heads = width / 64,
                          .layers = static_cast<int>(any({2, 4, 8, 12}))};
  const std::string kind = std::vector<std::string>{"h100x8", "a100x8", "v100x8"}[random() % 3];
  const std::string machines = devices <= 8 ? kind : absl::StrCat(kind, "*", devices / 8);
  std::vector<HandPlan> plans;
  for (HandPlan plan : search::testing::HandPlansOf(shape, devices)) {
    if (plan.stages > 1 || plan.micro_batches > 1 || plan.tensor > 64) continue;
    for (plan.zero = 0; plan.zero <= 1; ++plan.zero) plans.push_back(plan);
  }
  if (plans.size() < 2) return std::nullopt;
  std::shuffle(plans.begin(), plans.end(), random);
  const search::Cluster cluster = *search::ClusterOf(*search::FindPreset(machines), devices);
  const ir::Graph graph = search::testing::Gpt(shape);
  Pair pair{.what = absl::StrCat(shape.layers, " x ", shape.width, ", batch ", shape.batch, ", seq ", shape.seq,
                                 ", vocabulary ", shape.vocab, ", ", machines)};
  const search::Execution execution = {.overlaps = true};
  for (int i = 0; i < 2; ++i) {
    const HandPlan& plan = pair.plans[i] = plans[static_cast<size_t>(i)];
    const auto predicted = search::testing::PredictByHand(
        shape, graph, plan, ir::PipelineSchedule::kOneForwardOneBackward, cluster, execution);
    if (!predicted.has_value()) return std::nullopt;
    pair.steps[i] = predicted->step;
    pair.prices[i] = *search::testing::PriceByHand(graph, plan, cluster, execution);
  }
  return pair;
}

}  // namespace

void PrintOrder(const TableOptions& options) {
  std::printf("| GPUs | pairs | ordered otherwise | by up to |\n|---|---|---|---|\n");
  std::vector<Pair> wrong;
  for (const int64_t devices : {2, 8, 32, 128, 512, 2048, 8192, 65536}) {
    if (devices > options.most_devices) continue;
    std::mt19937_64 random(kSeed + static_cast<uint64_t>(devices));
    int tried = 0, otherwise = 0;
    double worst = 1;
    while (tried < kPairs) {
      const std::optional<Pair> pair = RandomPair(devices, random);
      if (!pair.has_value()) continue;
      ++tried;
      if (!pair->IsOtherwise()) continue;
      ++otherwise;
      worst = std::max({worst, pair->Step(), 1 / pair->Step()});
      wrong.push_back(*pair);
    }
    std::printf("| %lld | %d | %d | %.2f |\n", static_cast<long long>(devices), tried, otherwise, worst);
    std::fflush(stdout);
  }
  std::sort(wrong.begin(), wrong.end(), [](const Pair& a, const Pair& b) {
    return std::max(a.Step(), 1 / a.Step()) > std::max(b.Step(), 1 / b.Step());
  });
  std::printf("\nThe worst, as step (price) in ms:\n");
  for (size_t i = 0; i < std::min<size_t>(wrong.size(), 12); ++i) {
    const Pair& pair = wrong[i];
    const auto text = [&](int plan) {
      return absl::StrCat(search::testing::HandPlanText(pair.plans[plan]), ": ", pair.steps[plan].value() * 1e3, " (",
                          pair.prices[plan].value() * 1e3, ")");
    };
    std::printf("  %s: %s; %s\n", pair.what.c_str(), text(0).c_str(), text(1).c_str());
  }
}

}  // namespace cleave::bench
