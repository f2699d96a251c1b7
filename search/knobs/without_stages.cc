// Reading guide: SearchOnce makes one search, under a memory limit by PlanWithin. SearchWithAlternatives compares its
// plan with those of searches under other assumptions (AlternativesOf).
#include "search/knobs/without_stages.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "search/knobs/aside.h"
#include "search/knobs/memory/estimate.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/planner.h"
#include "search/knobs/regions/objective.h"
#include "search/knobs/warnings.h"
#include "search/model/facts/facts.h"
#include "search/model/manual/manual.h"
#include "search/model/pins/pins.h"
#include "search/model/pins/stage_pins.h"
#include "search/model/shorten/shorten.h"
#include "search/price/cost/predict.h"
#include "search/price/cost/time_prices.h"
#include "search/solve/assignment/assignment.h"

namespace cleave::search {
namespace {

// Settings that this version does not support are refused, not ignored.
bool CheckSupported(const ir::Pins& pins, const SearchOptions& options, Diagnostics& diagnostics) {
  const auto refuse = [&](const std::string& what, const Span& place, const std::string& help) {
    Diagnostic error = Error(Code::kE0220, absl::StrCat(what, " is not supported by this version"));
    std::move(error).At(place, "asked for here");
    error.help.push_back(help);
    diagnostics.Add(std::move(error));
  };
  const ir::ParallelSettings& settings = pins.settings;
  switch (options.algorithm) {
    case ir::SearchAlgorithm::kSapp:
    case ir::SearchAlgorithm::kPropagate:
    case ir::SearchAlgorithm::kDataParallel:
    case ir::SearchAlgorithm::kReplicate:
      break;
    case ir::SearchAlgorithm::kExact:
      if (options.price == ir::Price::kClassic) {
        refuse("`search = exact` with `cost = classic`", settings.search_span,
               "use `search = sapp`, or leave out `cost`");
      }
      break;
    case ir::SearchAlgorithm::kManual:  // CheckManualSettings says for which models.
      break;
  }
  if (options.price == ir::Price::kClassic && options.objective != ir::Objective::kSpeed) {
    refuse(absl::StrCat("`cost = classic` with `objective = ", ObjectiveName(options.objective), "`"),
           settings.objective_span, "leave out `cost`, or `objective`");
  }
  for (const ir::Region& region : pins.regions) {
    if (options.price != ir::Price::kClassic) break;
    refuse("`cost = classic` with regions", region.span,
           "leave out `cost`: the classic price decides whole models only");
  }
  return !diagnostics.has_errors();
}

// The only plan of a manual model, if it fits into memory.
std::optional<Found> PlanManual(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
                                const SearchOptions& options, Diagnostics& diagnostics) {
  const std::optional<ir::Mesh> mesh = MeshFor(cluster, pins.settings.mesh, pins.settings.mesh_span, diagnostics);
  if (!mesh.has_value()) return std::nullopt;
  const SearchedGraph model(graph);
  const ir::Plan plan = ManualPlan(graph, *mesh, cluster.name);
  const std::optional<MemoryLimit> limit = MemoryLimitOf(pins.settings, cluster);
  if (!limit.has_value()) return Found{.plan = plan, .program = std::nullopt};
  const FitTask task{.model = model,
                     .cluster = cluster,
                     .limit = *limit,
                     .plan_for = [&](double, int) { return plan; },
                     .execution = options.execution,
                     .tuning = options.tuning};
  std::optional<Fit> fit = FitMemory(task, diagnostics);
  if (!fit.has_value()) return std::nullopt;
  return Found{.plan = std::move(fit->plan), .program = std::move(fit->program)};
}

Savings SavingsOf(const ir::Graph& graph, const SearchOptions& options, const ir::Pins& pins) {
  constexpr int64_t kFewest = 2;
  return {.recomputes = options.recompute != ir::Recompute::kNone,
          .micro_batches = options.choose_micro_batches && !ir::FindRefusal(graph, kFewest).has_value(),
          .asked = AskedFor(pins)};
}

absl::string_view SavingText(ir::Retention retention) {
  switch (retention) {
    case ir::Retention::kKeep:
      return "";
    case ir::Retention::kRedistribute:
      return "; sent again in the backward pass";
    case ir::Retention::kRecompute:
      return "; computed again in the backward pass";
    case ir::Retention::kOffload:
      return "; waits in the host's memory for the backward pass";
  }
  return "";
}

// Copies the order of steps and the recomputation of `thrifty` to `plan`, with reasons.
void TakeSavings(const ir::Plan& thrifty, ir::Plan& plan) {
  plan.moves_steps = thrifty.moves_steps;
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const ir::OpId op(static_cast<int64_t>(i));
    if (plan.ops[op].retention == thrifty.ops[op].retention) continue;
    plan.ops[op].retention = thrifty.ops[op].retention;
    absl::StrAppend(&plan.ops[op].reason, SavingText(plan.ops[op].retention));
  }
}

// `plan` with the recomputation for the least peak.
Found Smallest(ir::Plan plan, const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
               const SearchOptions& options) {
  auto [thrifty, program] =
      search::Smallest(graph, cluster, options.execution, SavingsOf(graph, options, pins), options.tuning, plan)
          .value();
  TakeSavings(thrifty, plan);
  return {.plan = std::move(plan), .program = std::move(program)};
}

// The graph to search: a shortened one for models so large that the search decides equal layers as one. Pins on single
// ops, and searches that compare more than the sum of all prices, need all layers.
SearchedGraph SearchedFor(const ir::Graph& graph, const ir::Pins& pins, const SearchOptions& options) {
  const bool decides_by_price = options.algorithm == ir::SearchAlgorithm::kSapp &&
                                options.price != ir::Price::kClassic && options.objective == ir::Objective::kSpeed;
  const bool names_ops = !pins.pins.empty() || !pins.regions.empty() || !pins.retentions.empty();
  if (!decides_by_price || names_ops) return graph;
  SearchedGraph few = SearchedGraph::WithFewLayers(graph, options.tuning.searched_layers);
  if (few.is_whole()) return few;
  const GraphFacts facts = FactsOf(few.graph(), options.micro_batches, few.Times());
  const bool decides_layers_as_one = static_cast<size_t>(facts.TimesOf(facts.set_ops)) > options.tuning.large_ops;
  if (!decides_layers_as_one) return graph;
  return few;
}

// Shared by searches of one model on one mesh under different assumptions. Not thread-safe.
struct Searched {
  Searched(const ir::Graph& training_graph, const Cluster& cluster, const ir::Mesh& mesh, const ir::Pins& pins,
           const SearchOptions& options)
      : model(SearchedFor(training_graph, pins, options)),
        facts(FactsOf(model.graph(), options.micro_batches, model.Times())),
        redistributions(std::make_shared<ir::RedistributionPlanner>(mesh)),
        in_time(std::make_shared<ir::RedistributionPlanner>(mesh, SecondsOfCollectives(cluster, mesh))),
        estimator(std::make_shared<Estimator>(model, cluster, options.execution)) {}
  Searched(const Searched&) = delete;

  const SearchedGraph model;
  const GraphFacts facts;
  const std::shared_ptr<ir::RedistributionPlanner> redistributions, in_time;
  const std::shared_ptr<Estimator> estimator;
};

// The best plan that fits (FitMemory); nullopt after errors. Only that plan gets reasons, because finding them takes
// longer than a search.
std::optional<Found> PlanWithin(const MemoryLimit& limit, const Planner& planner, const Searched& searched,
                                const Cluster& cluster, const ir::Pins& pins, const SearchOptions& options,
                                std::optional<Seconds> faster_than, Diagnostics& diagnostics) {
  const SearchedGraph& model = searched.model;
  struct Decided {
    Planner::Decisions decisions;
    ir::Plan plan;
  };
  std::map<std::pair<double, int>, Decided> decided;  // By weight and ZeRO level.
  const auto key = [&](double weight, int zero) {
    return std::pair(weight, planner.DecidesForAllZero(weight) ? 0 : zero);
  };
  const PlanFor plan_for = [&](double weight, int zero) -> std::optional<ir::Plan> {
    auto found = decided.find(key(weight, zero));
    if (found == decided.end()) {
      // The warnings of a search do not depend on the weight, so they are given once.
      Diagnostics repeated;
      std::optional<Planner::Decisions> own = planner.DecideFor(weight, zero, decided.empty() ? diagnostics : repeated);
      if (!own.has_value()) return std::nullopt;
      ir::Plan plan = planner.PlanOf(*own, Planner::Detail::kStrategies);
      found = decided.emplace(key(weight, zero), Decided{*std::move(own), std::move(plan)}).first;
    }
    return planner.Divided(found->second.plan, zero);
  };
  std::vector<Planner::Decisions> improved;
  const ImprovePlan improve = [&](double weight, int zero, const TryPlan& reach) {
    const Planner::Decisions& start = decided.at(key(weight, zero)).decisions;
    planner.ImproveWithinLimit(start, [&](const Planner::Decisions& decisions, Trial trial) {
      improved.push_back(decisions);
      const ir::Plan plan = planner.PlanOf(decisions, Planner::Detail::kStrategies);
      return reach([&](int level) { return planner.Divided(plan, level); }, trial);
    });
  };
  const FitTask task{.model = model,
                     .cluster = cluster,
                     .limit = limit,
                     .plan_for = plan_for,
                     .zero = options.zero,
                     .savings = SavingsOf(model.whole(), options, pins),
                     .execution = options.execution,
                     .tuning = options.tuning,
                     .improve = planner.CanImproveWithinLimit() ? improve : ImprovePlan(nullptr),
                     .faster_than = faster_than,
                     .estimator = searched.estimator};
  std::optional<Fit> fit = FitMemory(task, diagnostics);
  if (!fit.has_value()) return std::nullopt;
  const Planner::Decisions& decisions = fit->improved.has_value() ? improved.at(static_cast<size_t>(*fit->improved))
                                                                  : decided.at(key(fit->weight, fit->zero)).decisions;
  ir::Plan plan = model.Lengthened(planner.Divided(planner.PlanOf(decisions, Planner::Detail::kReasons), fit->zero));
  plan.micro_batches = fit->plan.micro_batches;
  if (options.recompute == ir::Recompute::kFull) {
    return Smallest(std::move(plan), model.whole(), cluster, pins, options);
  }
  TakeSavings(fit->plan, plan);
  return Found{.plan = std::move(plan), .program = std::move(fit->program)};
}

// One search. `faster_than`: under a memory limit, only plans with a faster step are wanted; nullopt, without errors,
// where there is none.
std::optional<Found> SearchOnce(const Searched& searched, const ir::Graph& training_graph, const Cluster& cluster,
                                const ir::Pins& pins, const SearchOptions& options, std::optional<Seconds> faster_than,
                                Diagnostics& diagnostics) {
  const ir::Mesh& mesh = searched.redistributions->mesh();
  const SearchedGraph& model = searched.model;
  const GraphFacts& facts = searched.facts;
  const std::optional<OpDemands> demands = ResolvePins(facts, mesh, pins, diagnostics);
  if (!demands.has_value()) return std::nullopt;

  SearchOptions own = options;
  own.leave_idle = options.price == ir::Price::kTime &&
                   MayLeaveIdle(training_graph, mesh.rank_count(), options.micro_batches, options.leave_idle);
  // Outside of regions every rank holds everything, the data too.
  if (!pins.regions.empty() && !own.dataset.has_value()) own.dataset = ir::DatasetLayout::kFullBatch;
  const Planner planner({.facts = facts,
                         .redistributions = searched.redistributions,
                         .in_time = searched.in_time,
                         .cluster = cluster,
                         .pins = pins,
                         .demands = *demands,
                         .options = own});
  std::optional<Found> found;
  if (const std::optional<MemoryLimit> limit = MemoryLimitOf(pins.settings, cluster)) {
    found = PlanWithin(*limit, planner, searched, cluster, pins, options, faster_than, diagnostics);
  } else {
    const int zero = options.zero.value_or(0);
    const std::optional<Planner::Decisions> decisions = planner.DecideFor(/*memory_weight=*/0, zero, diagnostics);
    if (decisions.has_value()) {
      ir::Plan plan = model.Lengthened(planner.Divided(planner.PlanOf(*decisions, Planner::Detail::kReasons), zero));
      if (options.recompute == ir::Recompute::kFull) {
        found = Smallest(std::move(plan), training_graph, cluster, pins, options);
      } else {
        TakeSavings(WithAsked(plan, AskedFor(pins)), plan);
        found = Found{.plan = std::move(plan), .program = std::nullopt};
      }
    }
  }
  if (!found.has_value()) return std::nullopt;
  if (options.objective == ir::Objective::kMemory && !found->plan.moves_steps) {
    found->plan.moves_steps = true;
    found->program.reset();
  }
  std::optional<ir::Plan> few;
  if (!model.is_whole()) few = model.Searched(found->plan);
  WarnOfIdleRanks(facts, few.has_value() ? *few : found->plan, *demands, pins, *own.leave_idle, diagnostics);
  return found;
}

// The assumptions of another search. Its plan is taken if its step is at most `most_time` times that of the best plan
// so far; later searches then assume the same, so that idle axes are tried with each gradient weight.
struct Alternative {
  bool is_baseline = false;  // Data parallelism; later searches do not assume it.
  bool leave_idle = false;
  std::optional<double> gradient_weight = std::nullopt;
  double most_time = 1;

  SearchOptions Of(SearchOptions options) const {
    if (is_baseline) options.algorithm = ir::SearchAlgorithm::kDataParallel;
    if (leave_idle) options.leave_idle = true;
    if (gradient_weight.has_value()) options.gradient_weight = gradient_weight;
    return options;
  }
};

// The gradient weight if the backward pass hides most reductions.
constexpr double kMostHidden = 0.1;

// Whether several gradient weights are tried.
bool MayHideGradients(const SearchOptions& options) {
  return options.execution.overlaps && options.micro_batches == 1 && !options.gradient_weight.has_value() &&
         options.price == ir::Price::kTime;
}

// Data parallelism, whose messages may be faster than the price of a search says, and which no search is to be slower
// than; and, for plans that communicate much: that axes may be left idle, which must be much faster; and that the
// backward pass hides most or none of the reductions of gradients, which is not known before there is a plan.
//
// `is_large`: few of the layers are searched. Memory decides the plans of such models, and small differences of prices
// change them much; so gradient weights ascend from kMostHidden as long as plans become faster.
std::vector<Alternative> AlternativesOf(const SearchOptions& options, const ir::Pins& pins, bool is_large) {
  constexpr double kFaster = 0.99, kMuchFaster = 0.67, kAnyFaster = 0.998;
  std::vector<Alternative> alternatives;
  const bool searches =
      options.algorithm == ir::SearchAlgorithm::kSapp || options.algorithm == ir::SearchAlgorithm::kExact;
  const bool is_of_steps = options.price == ir::Price::kTime && options.objective == ir::Objective::kSpeed;
  if (!searches || !is_of_steps || !pins.regions.empty()) return alternatives;
  // Without overlap the price is the time of a step, and the search has compared this plan.
  if (options.execution.overlaps && pins.pins.empty()) {
    alternatives.push_back({.is_baseline = true, .most_time = kFaster});
  }
  // On a CPU models are mostly tried out, on all ranks that were asked for.
  if (!options.leave_idle.has_value() && options.execution.overlaps) {
    alternatives.push_back({.leave_idle = true, .most_time = kMuchFaster});
  }
  if (MayHideGradients(options)) {
    const double first = is_large ? kMostHidden : GradientWeight(options);
    for (const double weight : is_large ? std::vector{0.5, 1.0} : std::vector{1.0, 0.5, kMostHidden}) {
      if (weight == first) continue;
      alternatives.push_back({.gradient_weight = weight, .most_time = is_large ? kFaster : kAnyFaster});
    }
  }
  return alternatives;
}

// The plan with the fastest predicted step.
std::optional<Found> SearchWithAlternatives(const ir::Graph& training_graph, const Cluster& cluster,
                                            const ir::Pins& pins, const SearchOptions& options,
                                            Diagnostics& diagnostics) {
  constexpr double kLeastGain = 0.1;  // The share of communication in a step from which others are tried.
  const std::optional<ir::Mesh> mesh = MeshFor(cluster, pins.settings.mesh, pins.settings.mesh_span, diagnostics);
  if (!mesh.has_value()) return std::nullopt;
  if (options.micro_batches > 1 && !ir::WithTime(*mesh, options.micro_batches).ok()) {
    diagnostics.Add(Error(Code::kE0315, absl::StrCat("the batch cannot be taken in ", options.micro_batches,
                                                     " micro-batches on ", mesh->rank_count(), " devices"))
                        .At(pins.settings.micro_batches_span, "more parts of a step than can be told apart"));
    return std::nullopt;
  }
  const Searched searched(training_graph, cluster, *mesh, pins, options);
  const bool is_large = !searched.model.is_whole();
  SearchOptions assumed = options;
  if (is_large && MayHideGradients(options)) assumed.gradient_weight = kMostHidden;
  // Looks make a program slower.
  constexpr double kWithLooks = 2;
  const bool has_aside = !training_graph.metrics.empty() || !training_graph.looks.empty();
  std::optional<Seconds> faster_than = options.faster_than;
  if (faster_than.has_value() && has_aside) *faster_than = *faster_than * kWithLooks;
  Diagnostics of_best;
  std::optional<Found> best = SearchOnce(searched, training_graph, cluster, pins, assumed, faster_than, of_best);
  const std::vector<Alternative> alternatives = AlternativesOf(options, pins, is_large);
  if ((best.has_value() || faster_than.has_value()) && !alternatives.empty()) {
    // The graph by which plans are compared, if they have no program yet, or one with metrics and looks, which must not
    // decide between plans.
    std::optional<GraphFacts> facts;
    std::optional<ir::Graph> measured;
    if ((best.has_value() && !best->program.has_value()) || has_aside) {
      facts = FactsOf(training_graph);
      measured = WithoutAside(*facts);
    }
    const auto predict = [&](const Found& found) {
      if (!measured.has_value()) return PredictStep(*found.program, cluster, options.execution).whole;
      const auto made = ProgramOf(*measured, WithoutAside(*facts, found.plan), cluster, options.execution);
      return PredictStep(*made, cluster, options.execution).whole;
    };
    // Without a plan data parallelism must be faster than the one that is known.
    std::optional<Prediction> first;
    if (best.has_value()) first = predict(*best);
    Seconds least = first.has_value() ? first->step : *options.faster_than;
    for (const Alternative& alternative : alternatives) {
      // Other plans of a search compute as much. With micro-batches, which a limit of memory asks for, others differ by
      // memory.
      const bool may_gain = first.has_value() && best->plan.micro_batches == 1 &&
                            first->compute <= least * std::min(alternative.most_time, 1 - kLeastGain);
      if (!alternative.is_baseline && !may_gain) continue;
      // Steps above `useless` end a search early. With a margin, since another weight may come near.
      constexpr double kNear = 1 / 0.99;
      const bool has_other_weight = alternative.gradient_weight.has_value();
      const Seconds useless = least * (has_aside ? kWithLooks : has_other_weight ? kNear : alternative.most_time);
      Diagnostics own;
      std::optional<Found> found =
          SearchOnce(searched, training_graph, cluster, pins, alternative.Of(assumed), useless, own);
      const std::optional<Seconds> step = found.has_value() ? std::optional(predict(*found).step) : std::nullopt;
      if (is_large && has_other_weight && (!step.has_value() || *step > useless)) break;
      if (!step.has_value() || *step > least * alternative.most_time) continue;
      if (!alternative.is_baseline && found->plan.micro_batches > 1) continue;
      if (!alternative.is_baseline) assumed = alternative.Of(assumed);
      least = *step;
      best = std::move(found);
      of_best = std::move(own);
    }
  }
  diagnostics.AddAll(of_best);
  return best;
}

}  // namespace

std::optional<Found> SearchWithoutStages(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                                         const SearchOptions& options, Diagnostics& diagnostics) {
  if (!CheckStagePins(training_graph, pins, /*stages=*/1, diagnostics)) return std::nullopt;
  if (training_graph.is_manual()) return PlanManual(training_graph, cluster, pins, options, diagnostics);
  if (!CheckSupported(pins, options, diagnostics)) return std::nullopt;
  return SearchWithAlternatives(training_graph, cluster, pins, options, diagnostics);
}

}  // namespace cleave::search
