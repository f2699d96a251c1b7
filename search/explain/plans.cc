// Reading guide: SettingsToTry lists settings, Try has the plan of each, and OtherPlansOf joins plans with equal
// predictions and says how each differs from the chosen one (WhyOther).
#include "search/explain/plans.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/diagnostic/diagnostic.h"
#include "base/parallel/parallel.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/search.h"

namespace cleave::search {
namespace {

// Settings of a search, as values and as command line flags.
struct Asked {
  std::string flags;
  ir::Pins pins;
};

// All settings that differ from the model's own: search algorithms, ZeRO levels, savings of memory, and numbers of
// stages.
std::vector<Asked> SettingsToTry(const Explained& explained) {
  const ir::ParallelSettings& own = explained.pins.settings;
  std::vector<Asked> all;
  const auto add = [&](const std::string& flags, const std::function<void(ir::ParallelSettings&)>& set) {
    Asked asked{.flags = flags, .pins = explained.pins};
    set(asked.pins.settings);
    const auto is_same = [&](const Asked& other) { return other.pins == asked.pins; };
    if (asked.pins != explained.pins && std::none_of(all.begin(), all.end(), is_same)) all.push_back(std::move(asked));
  };
  const bool trains = std::any_of(explained.graph.ops.begin(), explained.graph.ops.end(),
                                  [](const ir::Op& op) { return op.phase == ir::Phase::kBackward; });
  constexpr int64_t kMostZero = 3;
  for (const ir::SearchAlgorithm algorithm :
       {ir::SearchAlgorithm::kSapp, ir::SearchAlgorithm::kDataParallel, ir::SearchAlgorithm::kReplicate}) {
    const auto search = [algorithm](ir::ParallelSettings& settings) { settings.search = algorithm; };
    const std::string flag = absl::StrCat("--search ", AlgorithmName(algorithm));
    add(flag, search);
    if (!trains || algorithm == ir::SearchAlgorithm::kReplicate) continue;
    for (int64_t zero = 0; zero <= kMostZero; ++zero) {
      const std::string name =
          absl::StrCat(algorithm == own.search ? "" : absl::StrCat(flag, " "), "--set zero=", zero);
      add(name, [&](ir::ParallelSettings& settings) {
        search(settings);
        settings.zero = zero;
      });
    }
  }
  if (!explained.pins.pins.empty()) {
    all.push_back({.flags = "without its pins", .pins = explained.pins});
    all.back().pins.pins.clear();
  }
  add("--set objective=memory", [](ir::ParallelSettings& settings) { settings.objective = ir::Objective::kMemory; });
  if (own.search != ir::SearchAlgorithm::kPropagate) {
    add("--set cost=bytes", [](ir::ParallelSettings& settings) { settings.cost = ir::Price::kBytes; });
  }
  if (!trains) return all;
  add("--set recompute=full", [](ir::ParallelSettings& settings) { settings.recompute = ir::Recompute::kFull; });
  add("--set micro_batches=4", [](ir::ParallelSettings& settings) { settings.micro_batches = 4; });
  for (const int64_t stages : {1, 2, 4, 8}) {
    if (explained.cluster.devices() % stages != 0) continue;
    const std::string micro_batches = stages > 1 ? " --set micro_batches=auto" : "";
    add(absl::StrCat("--set stages=", stages, micro_batches), [&](ir::ParallelSettings& settings) {
      settings.stages = stages;
      if (stages > 1) settings.micro_batches = std::nullopt;
    });
  }
  return all;
}

// Whether both show the same numbers.
bool AreAlike(const TriedPlan& one, const TriedPlan& other) {
  const Prediction& a = one.predicted;
  const Prediction& b = other.predicted;
  return a.step == b.step && a.compute == b.compute && a.communication == b.communication && one.peak == other.peak &&
         a.sent_bytes_per_rank == b.sent_bytes_per_rank && one.bubble == other.bubble;
}

void Measure(const ir::LoweredProgram& made, const Explained& explained, TriedPlan& tried) {
  const StepPrediction step = PredictStep(made, explained.cluster, explained.execution);
  tried.peak = made.memory.use.prediction.peak;
  tried.predicted = step.whole;
  if (step.pipeline.has_value()) tried.bubble = step.pipeline->bubble;
}

std::string RefusalText(int64_t micro_batches, const ir::MicroBatchRefusal& refusal) {
  return absl::StrCat("the batch cannot be taken in ", micro_batches, " micro-batches: ", refusal.why);
}

// Why the ranks of a plan cannot divide the samples of its micro-batches; empty where they can.
std::string WhyNotInMicroBatches(const ir::Graph& graph, const ir::Plan& plan) {
  if (plan.micro_batches == 1) return "";
  const absl::StatusOr<ir::Distributed> distributed = ir::Distribute(graph, plan);
  if (!distributed.ok()) return "";  // Making the program says why.
  const std::optional<ir::MicroBatchRefusal> refusal = ir::FindRefusal(distributed->graph, distributed->plan);
  return refusal.has_value() ? RefusalText(plan.micro_batches, *refusal) : "";
}

TriedPlan Try(const Explained& explained, const Asked& asked) {
  TriedPlan tried{.flags = {asked.flags}};
  if (const auto refusal = ir::FindRefusal(explained.graph, asked.pins.settings.micro_batches.value_or(1))) {
    tried.refusal = RefusalText(*asked.pins.settings.micro_batches, *refusal);
    return tried;
  }
  SearchOptions options = OptionsFrom(asked.pins.settings);
  options.execution = explained.execution;
  Diagnostics diagnostics;
  std::optional<Found> found = SearchForProgram(explained.graph, explained.cluster, asked.pins, options, diagnostics);
  if (!found.has_value()) {
    const auto is_error = [](const Diagnostic& own) { return own.severity == Severity::kError; };
    const auto first = std::find_if(diagnostics.items().begin(), diagnostics.items().end(), is_error);
    tried.refusal = first == diagnostics.items().end() ? "no plan" : first->message;
    return tried;
  }
  if (!found->program.has_value()) {
    tried.refusal = WhyNotInMicroBatches(explained.graph, found->plan);
    if (!tried.refusal.empty()) return tried;
    absl::StatusOr<ir::LoweredProgram> made =
        ProgramOf(explained.graph, found->plan, explained.cluster, explained.execution);
    if (!made.ok()) {
      tried.refusal = std::string(made.status().message());
      return tried;
    }
    found->program = *std::move(made);
  }
  Measure(*found->program, explained, tried);
  return tried;
}

// How a step differs from the chosen plan's: "1.67 times the step: 663.9 us more communication", without differences of
// less than 1 % of a step.
std::string WhyOther(const TriedPlan& chosen, const TriedPlan& other) {
  constexpr double kSame = 0.01;
  const Prediction& own = other.predicted;
  const Prediction& best = chosen.predicted;
  const bool is_as_fast = std::abs((own.step - best.step).value()) <= best.step.value() * kSame;
  std::string text =
      is_as_fast ? "as fast" : absl::StrFormat("%.2f times the step", own.step.value() / best.step.value());
  std::vector<std::string> parts;
  const auto add = [&](Seconds more, const std::string& of) {
    if (std::abs(more.value()) <= best.step.value() * kSame) return;
    const bool is_more = more > Seconds(0);
    parts.push_back(absl::StrCat(FormatSeconds(is_more ? more : Seconds(0) - more), is_more ? " more " : " less ", of));
  };
  if (other.bubble > 0 || chosen.bubble > 0) {
    parts.push_back(absl::StrFormat("stages idle for %.0f%% of their passes", 100 * other.bubble));
  }
  add(own.compute - best.compute, "computation");
  add(own.communication - best.communication, "communication");
  if (!parts.empty()) absl::StrAppend(&text, ": ", absl::StrJoin(parts, ", "));
  return text;
}

}  // namespace

OtherPlans OtherPlansOf(const Explained& explained) {
  OtherPlans others;
  std::vector<TriedPlan>& different = others.plans;
  different.push_back({.flags = {"this plan"}, .is_chosen = true});
  Measure(explained.made, explained, different.front());
  const std::vector<Asked> settings = SettingsToTry(explained);
  for (TriedPlan& tried : MapInParallel(settings.size(), [&](size_t i) { return Try(explained, settings[i]); })) {
    const auto same = std::find_if(different.begin(), different.end(),
                                   [&](const TriedPlan& other) { return AreAlike(other, tried); });
    if (!tried.refusal.empty()) {
      others.refused.push_back(std::move(tried));
    } else if (same == different.end()) {
      different.push_back(std::move(tried));
    } else {
      same->flags.push_back(tried.flags.front());
    }
  }
  const TriedPlan chosen = different.front();
  for (TriedPlan& tried : different) {
    if (!tried.is_chosen) tried.why = WhyOther(chosen, tried);
  }
  std::stable_sort(different.begin(), different.end(),
                   [](const TriedPlan& a, const TriedPlan& b) { return a.predicted.step < b.predicted.step; });
  return others;
}

}  // namespace cleave::search
