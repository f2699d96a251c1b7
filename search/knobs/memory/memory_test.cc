#include "search/knobs/memory/memory.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "search/price/cost/predict.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::Mlp;

ir::Plan Found(const ir::Graph& graph, int64_t devices, ir::SearchAlgorithm algorithm, int zero,
               double gradient_weight = 0.1) {
  Diagnostics diagnostics;
  const SearchOptions options{.algorithm = algorithm, .gradient_weight = gradient_weight, .dataset = {}, .zero = zero};
  std::optional<ir::Plan> plan = Search(graph, CpuCluster(devices), {}, options, diagnostics);
  EXPECT_TRUE(plan.has_value());
  return *std::move(plan);
}

// A search over a few plans that is exact under every weight.
class FewPlans {
 public:
  FewPlans(const ir::Graph& graph, int64_t devices) : devices_(devices) {
    for (int zero = 0; zero <= 3; ++zero) {
      for (const ir::SearchAlgorithm algorithm :
           {ir::SearchAlgorithm::kReplicate, ir::SearchAlgorithm::kDataParallel, ir::SearchAlgorithm::kSapp}) {
        for (const double gradient_weight : {0.1, 1.0}) {
          Candidate candidate{
              .plan = Found(graph, devices, algorithm, zero, gradient_weight), .zero = zero, .peak = {}};
          ir::Plan moved = candidate.plan;
          moved.moves_steps = true;
          candidate.peak = EstimateMemory(graph, moved).prediction.peak;
          candidates_.push_back(std::move(candidate));
        }
      }
    }
  }

  PlanFor Search() {
    return [this](double weight, int zero) -> std::optional<ir::Plan> {
      ++searches_;
      const Candidate* best = nullptr;
      const auto price = [&](const Candidate& candidate) {
        return candidate.plan.search.cost + weight * static_cast<double>(candidate.peak.value());
      };
      for (const Candidate& candidate : candidates_) {
        if (candidate.zero == zero && (best == nullptr || price(candidate) < price(*best))) best = &candidate;
      }
      return best->plan;
    };
  }

  Bytes Smallest(std::optional<int> zero) const {
    Bytes smallest(int64_t{1} << 60);
    for (const Candidate& candidate : candidates_) {
      if (!zero.has_value() || candidate.zero == *zero) smallest = std::min(smallest, candidate.peak);
    }
    return smallest;
  }

  std::set<Bytes> Peaks() const {
    std::set<Bytes> peaks;
    for (const Candidate& candidate : candidates_) peaks.insert(candidate.peak);
    return peaks;
  }

  int searches() const { return searches_; }
  int64_t devices() const { return devices_; }

 private:
  struct Candidate {
    ir::Plan plan;
    int zero = 0;
    Bytes peak;
  };
  const int64_t devices_;
  std::vector<Candidate> candidates_;
  int searches_ = 0;
};

std::optional<Fit> Fitted(const ir::Graph& graph, FewPlans& plans, Bytes limit, std::optional<int> zero,
                          Diagnostics& diagnostics, Savings savings = {}, const Execution& execution = {}) {
  const Cluster cluster = CpuCluster(plans.devices());
  const SearchedGraph model(graph);
  const FitTask task{.model = model,
                     .cluster = cluster,
                     .limit = {.bytes = limit, .span = {}, .source = "`memory`"},
                     .plan_for = plans.Search(),
                     .zero = zero,
                     .savings = std::move(savings),
                     .execution = execution};
  return FitMemory(task, diagnostics);
}

TEST(FitMemoryTest, AnswersFitWheneverAPlanDoes) {
  const ir::Graph graph = Mlp(64, {64, 96, 32, 8});
  FewPlans plans(graph, 4);
  int found = 0, refused = 0;
  for (const std::optional<int> zero :
       {std::optional<int>(0), std::optional<int>(1), std::optional<int>(3), std::optional<int>()}) {
    for (const Bytes peak : plans.Peaks()) {
      for (const Bytes limit : {peak - Bytes(1), peak}) {
        Diagnostics diagnostics;
        const std::optional<Fit> fit = Fitted(graph, plans, limit, zero, diagnostics);
        ASSERT_EQ(fit.has_value(), plans.Smallest(zero) <= limit) << limit.value();
        ASSERT_EQ(diagnostics.has_errors(), !fit.has_value());
        ++(fit.has_value() ? found : refused);
        if (!fit.has_value()) continue;
        EXPECT_LE(EstimateMemory(graph, fit->plan).prediction.peak, limit);
        EXPECT_EQ(fit->plan.search.zero, zero.value_or(fit->zero));
      }
    }
  }
  EXPECT_GT(found, 20);
  EXPECT_GT(refused, 4);
}

TEST(FitMemoryTest, OnlyFasterPlansAreLookedForWhereOneIsKnown) {
  const ir::Graph graph = Mlp(64, {64, 96, 32, 8});
  FewPlans plans(graph, 4);
  const Cluster cluster = CpuCluster(plans.devices());
  const SearchedGraph model(graph);
  int found = 0;
  for (const Bytes limit : plans.Peaks()) {
    FitTask task{.model = model,
                 .cluster = cluster,
                 .limit = {.bytes = limit, .span = {}, .source = "`memory`"},
                 .plan_for =
                     [&](double weight, int zero) {
                       std::optional<ir::Plan> plan = plans.Search()(weight, zero);
                       plan->search.price = "time";
                       return plan;
                     },
                 .zero = std::nullopt};
    Diagnostics diagnostics;
    const std::optional<Fit> best = FitMemory(task, diagnostics);
    if (!best.has_value()) continue;
    ++found;
    const Seconds step = StepOf(best->program, cluster, task.execution);
    task.faster_than = step;
    EXPECT_FALSE(FitMemory(task, diagnostics).has_value()) << limit.value();
    task.faster_than = step * 1.0001;
    const std::optional<Fit> again = FitMemory(task, diagnostics);
    ASSERT_TRUE(again.has_value()) << limit.value();
    EXPECT_EQ(again->plan, best->plan);
  }
  EXPECT_GT(found, 4);
}

TEST(FitMemoryTest, NothingIsLookedForWhereThePlanThatSendsLeastIsTooSlow) {
  constexpr int64_t kDevices = 2;
  const ir::Graph graph = Gpt({.batch = 16, .seq = 64, .width = 256, .layers = 18});
  const Cluster cluster = CpuCluster(kDevices);
  const SearchedGraph model(graph);
  std::vector<ir::Plan> plans;
  for (int zero = 0; zero <= 3; ++zero) {
    plans.push_back(Found(graph, kDevices, ir::SearchAlgorithm::kDataParallel, zero));
    plans.back().search.price = "time";
  }
  int searches = 0;
  FitTask task{.model = model,
               .cluster = cluster,
               .limit = {.bytes = EstimateMemory(graph, plans[3]).prediction.peak, .span = {}, .source = "`memory`"},
               .plan_for =
                   [&](double /*weight*/, int zero) {
                     ++searches;
                     return plans[static_cast<size_t>(zero)];
                   },
               .zero = std::nullopt};
  Diagnostics diagnostics;
  const std::optional<Fit> best = FitMemory(task, diagnostics);
  ASSERT_TRUE(best.has_value());
  EXPECT_GT(std::exchange(searches, 0), 1);
  task.faster_than = StepOf(best->program, cluster, task.execution) * 0.5;
  EXPECT_FALSE(FitMemory(task, diagnostics).has_value());
  EXPECT_EQ(searches, 1);
}

TEST(FitMemoryTest, RoomEnoughGivesAnUnweightedPlan) {
  const ir::Graph graph = Mlp(64, {64, 96, 32, 8});
  FewPlans plans(graph, 4);
  const std::optional<ir::Plan> unweighted = plans.Search()(0, 0);
  const int before = plans.searches();
  Diagnostics diagnostics;
  const std::optional<Fit> fit = Fitted(graph, plans, Bytes(1 << 30), std::nullopt, diagnostics);
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->plan, unweighted);
  EXPECT_EQ(fit->weight, 0);
  EXPECT_EQ(plans.searches() - before, 3);  // At the levels that send as much.
}

TEST(FitMemoryTest, WorkIsBounded) {
  const ir::Graph graph = Mlp(64, {64, 96, 32, 8});
  FewPlans plans(graph, 4);
  for (const Bytes limit : plans.Peaks()) {
    const int before = plans.searches();
    Diagnostics diagnostics;
    Fitted(graph, plans, limit, 0, diagnostics);
    EXPECT_LE(plans.searches() - before, MostPlansPerLevel({}) + 3);  // Three more plans show what ZeRO would save.
  }
}

std::string Refusal(const ir::Graph& graph, int64_t devices, Bytes limit) {
  FewPlans plans(graph, devices);
  Diagnostics diagnostics;
  EXPECT_FALSE(Fitted(graph, plans, limit, 0, diagnostics).has_value());
  return RenderText(diagnostics, SourceSet());
}

TEST(FitMemoryTest, ARefusalNamesWhatBindsAndWhatHelps) {
  const ir::Graph graph = Gpt({});
  FewPlans plans(graph, 4);
  const Bytes smallest = plans.Smallest(0);
  const std::string text = Refusal(graph, 4, smallest - Bytes(1));
  EXPECT_TRUE(absl::StrContains(text, "error[E0313]: no plan fits into `memory`")) << text;
  EXPECT_TRUE(absl::StrContains(text, absl::StrCat("the smallest plan needs ", smallest.value(), " bytes"))) << text;
  EXPECT_TRUE(absl::StrContains(text, "`zero = 3` would need ")) << text;
  EXPECT_TRUE(absl::StrContains(text, "wait for the backward pass")) << text;
  const std::string alone = Refusal(graph, 4, Bytes(1000));
  EXPECT_TRUE(absl::StrContains(alone, "error[E0313]: parameters of ")) << alone;
}

// Also where values are looked at.
TEST(FitMemoryTest, ARefusalSaysWhatMicroBatchesWouldNeed) {
  ir::Graph graph = Mlp(64, {64, 96, 32, 8});
  for (int looks = 0; looks <= 1; ++looks) {
    const std::string text = Refusal(graph, 4, Bytes(1000));
    EXPECT_TRUE(absl::StrContains(text, "`micro_batches = 64` would need ")) << text;
    graph.looks.push_back({.kind = ir::LookKind::kPrint, .value = *graph.loss, .name = "loss"});
  }
}

// What was measured is what is compiled: nobody makes the program again.
TEST(FitMemoryTest, GivesTheProgramOfItsPlan) {
  const ir::Graph graph = Mlp(64, {64, 96, 32, 8});
  FewPlans plans(graph, 4);
  for (const Bytes limit : plans.Peaks()) {
    Diagnostics diagnostics;
    const std::optional<Fit> fit = Fitted(graph, plans, limit, std::nullopt, diagnostics);
    ASSERT_TRUE(fit.has_value());
    const absl::StatusOr<ir::LoweredProgram> made = ProgramOf(graph, fit->plan);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(fit->program.program, made->program);
    EXPECT_EQ(fit->program.memory.use.prediction, made->memory.use.prediction);
  }
}

// Every limit down to what recomputation reaches is kept. One device has one plan, and with more room it is not slower.
TEST(FitMemoryTest, RecomputesAsMuchAsTheLimitDemands) {
  const ir::Graph graph = Gpt({});
  for (const int64_t devices : {1, 4}) {
    FewPlans plans(graph, devices);
    const Cluster cluster = CpuCluster(devices);
    const Savings savings = {.recomputes = true};
    const ir::Plan free = *plans.Search()(0, 0);
    const ir::LoweredProgram kept = *ProgramOf(graph, free);
    const auto [plan, smallest] = Smallest(graph, cluster, {}, savings, {}, free).value();
    const Bytes peak = kept.memory.use.prediction.peak;
    const Bytes least = smallest.memory.use.prediction.peak;
    EXPECT_LT(least.value(), peak.value() * 0.8);
    double slower = 0;
    for (int tenth = 10; tenth >= 0; tenth -= 2) {
      const Bytes limit(least.value() + (peak - least).value() * tenth / 10);
      Diagnostics diagnostics;
      std::optional<Fit> fit = Fitted(graph, plans, limit, 0, diagnostics, savings);
      ASSERT_TRUE(fit.has_value()) << tenth;
      EXPECT_LE(fit->program.memory.use.prediction.peak, limit);
      EXPECT_EQ(fit->program.program, ProgramOf(graph, fit->plan)->program);
      int again = 0;
      for (const ir::OpPlan& op : fit->plan.ops) again += op.retention == ir::Retention::kRecompute;
      EXPECT_EQ(again > 0, tenth < 10) << tenth;
      const double seconds = Predict(fit->program.program, cluster).step.value();
      if (devices == 1) {
        EXPECT_GE(seconds, slower * 0.97) << tenth;
      }
      slower = seconds;
    }
  }
}

TEST(FitMemoryTest, TheCopyOfACheckpointCounts) {
  const ir::Graph graph = Gpt({});
  FewPlans plans(graph, 1);
  const Bytes peak = EstimateMemory(graph, *plans.Search()(0, 0)).prediction.peak;
  const Execution beside{.checkpoint = ir::CheckpointCopy::kBesideValues};
  const Execution on_host{.checkpoint = ir::CheckpointCopy::kOnHost};
  const Bytes copy = EstimateMemory(graph, *plans.Search()(0, 0), beside).prediction.checkpoint;
  const auto fits = [&](Bytes limit, const Savings& savings, const Execution& execution) {
    Diagnostics diagnostics;
    const std::optional<Fit> fit = Fitted(graph, plans, limit, 0, diagnostics, savings, execution);
    if (fit.has_value()) {
      EXPECT_LE(fit->program.memory.use.prediction.peak, limit);
    }
    return fit.has_value();
  };
  EXPECT_TRUE(fits(peak + copy, {}, beside));
  // With the copy, each limit needs as much recomputation as one that is smaller by the copy needs without it.
  int fitting = 0;
  for (int percent = 50; percent <= 100; percent += 10) {
    const Bytes limit(peak.value() * percent / 100);
    const bool without = fits(limit, {.recomputes = true}, {});
    EXPECT_EQ(fits(limit, {.recomputes = true}, on_host), without) << percent;
    EXPECT_EQ(fits(limit + copy, {.recomputes = true}, beside), without) << percent;
    fitting += without;
  }
  EXPECT_GT(fitting, 1);
  Diagnostics diagnostics;
  EXPECT_FALSE(Fitted(graph, plans, copy, 0, diagnostics, {}, beside).has_value());
  EXPECT_TRUE(absl::StrContains(diagnostics.items().front().notes.front(), ", checkpoint "));
}

TEST(FitMemoryTest, TakesAsFewMicroBatchesAsTheLimitDemands) {
  const ir::Graph graph = Mlp(64, {64, 96, 32, 8});
  FewPlans plans(graph, 1);
  std::set<int64_t> counts;
  const Bytes peak = EstimateMemory(graph, *plans.Search()(0, 0)).prediction.peak;
  for (int percent = 100; percent > 0; percent -= 2) {
    const Bytes limit(peak.value() * percent / 100);
    Diagnostics diagnostics;
    std::optional<Fit> fit = Fitted(graph, plans, limit, 0, diagnostics, {.micro_batches = true});
    if (!fit.has_value()) break;
    EXPECT_LE(fit->program.memory.use.prediction.peak, limit);
    counts.insert(fit->plan.micro_batches);
  }
  EXPECT_GE(counts.size(), 3);
  EXPECT_EQ(*counts.begin(), 1);
}

TEST(LeastMemoryTest, IsNeverMoreThanThePeak) {
  for (const ir::Graph& graph : {Mlp(64, {64, 96, 32, 8}), Gpt({})}) {
    Bytes undivided;
    for (const int zero : {0, 1, 2, 3}) {
      for (const ir::SearchAlgorithm algorithm :
           {ir::SearchAlgorithm::kReplicate, ir::SearchAlgorithm::kDataParallel, ir::SearchAlgorithm::kSapp}) {
        const ir::Plan plan = Found(graph, 4, algorithm, zero);
        const ir::MemoryPrediction memory = EstimateMemory(graph, plan).prediction;
        const Bytes least = LeastMemory(graph, plan);
        // All parameters are trained.
        EXPECT_GE(least, memory.parameters * (zero == 0 ? 2 : 1) + memory.optimizer);
        EXPECT_LE(least, memory.peak);
        if (zero == 0) undivided = std::max(undivided, least);
        if (zero == 3) {
          EXPECT_LT(least, undivided);
        }
      }
    }
  }
}

// At each level: what is divided between ranks is written by those that have it.
TEST(EstimateMemoryTest, CheckpointsAreWrittenFromWhatARankKeeps) {
  const Execution execution{.checkpoint = ir::CheckpointCopy::kBesideValues};
  const ir::Graph small = Gpt({});
  const ir::Graph large = Mlp(64, {512, 512});
  for (const int zero : {0, 1, 2, 3}) {
    const ir::Plan plan = Found(small, 4, ir::SearchAlgorithm::kDataParallel, zero);
    const ir::MemoryPrediction without = EstimateMemory(small, plan).prediction;
    const ir::MemoryPrediction memory = EstimateMemory(small, plan, execution).prediction;
    EXPECT_EQ(memory.checkpoint, memory.parameters + memory.optimizer) << "its tensors have less than 128 KiB";
    EXPECT_EQ(memory.peak, without.peak + memory.checkpoint);
    // A weight of 1 MiB on four ranks: a quarter of the rows each, with and without ZeRO. Of its bias of 2 KiB a rank
    // writes what it has.
    const ir::Plan divided = Found(large, 4, ir::SearchAlgorithm::kDataParallel, zero);
    EXPECT_EQ(EstimateMemory(large, divided, execution).prediction.checkpoint,
              Bytes(512 * 512 * 4 / 4 + (zero == 3 ? 512 : 2048)))
        << zero;
  }
}

TEST(EstimateMemoryTest, AddsUpAndNamesTheLargestFirst) {
  const ir::Graph graph = Gpt({});
  for (const int zero : {0, 1, 2, 3}) {
    const ir::MemoryUse use = EstimateMemory(graph, Found(graph, 4, ir::SearchAlgorithm::kDataParallel, zero));
    const ir::MemoryPrediction& memory = use.prediction;
    EXPECT_EQ(memory.parameters + memory.gradients + memory.optimizer + memory.activations + memory.buffers,
              memory.peak);
    ASSERT_FALSE(use.at_peak.empty());
    Bytes held;
    for (size_t i = 0; i < use.at_peak.size(); ++i) {
      held += use.at_peak[i].size;
      EXPECT_LE(use.at_peak[i].size, use.at_peak[i == 0 ? 0 : i - 1].size);
    }
    EXPECT_LE(held, memory.peak);
    EXPECT_GT(held.value(), memory.peak.value() / 2);
  }
}

double HeldOf(const ir::Graph& graph, const std::string& name, int axes_on_first_factor) {
  const GraphFacts facts = FactsOf(graph);
  const ir::Mesh mesh = MeshOfCluster(CpuCluster(4));
  const ir::OpId op = *graph.Find(name);
  ir::Strategy strategy = ir::Strategy::Replicated(facts.rule(op));
  for (int i = 0; i < axes_on_first_factor; ++i) strategy.cuts[0].push_back(mesh.AxisIds()[static_cast<size_t>(i)]);
  return HeldBytes(facts, mesh, op, strategy);
}

TEST(HeldBytesTest, ParametersWithTheirStateAndValuesThatWait) {
  const ir::Graph graph = Mlp(64, {64, 96, 32, 8});
  const ir::Op& weight = graph.op(*graph.Find("w0"));
  const double bytes = 4.0 * static_cast<double>(ir::ElementCount(weight.type.shape));
  int states = 0;
  for (const ir::Op& op : graph.ops) states += op.kind == ir::OpKind::kState && absl::StrContains(op.name, "w0");
  EXPECT_EQ(HeldOf(graph, "w0", 0), (2 + states) * bytes);
  EXPECT_EQ(HeldOf(graph, "w0", 2), (2 + states) * bytes / 4);
  for (const ir::Op& op : graph.ops) {
    const double held = HeldOf(graph, op.name, 0);
    if (op.kind == ir::OpKind::kRelu) {
      EXPECT_EQ(held, 4.0 * static_cast<double>(ir::ElementCount(op.type.shape))) << op.name;
    } else if (op.phase != ir::Phase::kForward || op.kind == ir::OpKind::kInput || graph.loss == op.id) {
      EXPECT_EQ(held, 0) << op.name;
    }
  }
}

TEST(MemoryLimitTest, TheSettingWinsOverTheCluster) {
  ir::ParallelSettings settings;
  Cluster cluster = CpuCluster(2);
  EXPECT_EQ(MemoryLimitOf(settings, cluster), std::nullopt);
  cluster.memory_per_device = Bytes(1000);
  EXPECT_EQ(MemoryLimitOf(settings, cluster)->bytes, Bytes(1000));
  settings.memory = ir::Placed<int64_t>{.value = 500, .span = {}};
  EXPECT_EQ(MemoryLimitOf(settings, cluster)->bytes, Bytes(500));
}

}  // namespace
}  // namespace cleave::search
