// Reading guide: Fitter::TryLevels tries the plan without a weight of each ZeRO level (Unweighted), up to the first
// that fits, and then weights at the levels below it (Weighted). Saver (save.h) gives each tried plan the savings with
// which it fits, and Improve changes the best plan of a small model. TakeSmallest finds what to report where nothing
// fits.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "search/knobs/memory/estimate.h"
#include "search/knobs/memory/improve.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/memory/refusal.h"
#include "search/knobs/memory/save.h"
#include "search/knobs/recompute/recompute.h"

namespace cleave::search {
namespace {

// If nothing fits, the plan with the least peak is looked for among so many plans that ImprovePlan changed,
constexpr int kMostChanged = 64;
// and for small models so many are measured with all savings, which may change their order a little.
constexpr size_t kMostSaved = 4;
// A peak is near to a limit if it is above it by at most limit / kNearPart.
constexpr int64_t kNearPart = 8;
// Live bytes may exceed the limit by this share, because moving steps may lower them, which is rare.
constexpr double kBeyond = 1.0 / 6;

class Fitter {
 public:
  explicit Fitter(const FitTask& task)
      : task_(task),
        estimator_(task.estimator != nullptr ? task.estimator
                                             : std::make_shared<Estimator>(task.model, task.cluster, task.execution)),
        best_(task.faster_than),
        saver_(task, *estimator_, best_) {}

  // Tries the plans of all levels and weights. False where a search failed.
  bool TryLevels() {
    const int first = task_.zero.value_or(0);
    const int last = task_.zero.value_or(3);
    std::optional<int> first_that_fits;
    for (int level = first; level <= last; ++level) {
      // These levels divide what an update computes, and send as much as the first; later ones send more.
      constexpr int kLastThatMayBeFaster = 2;
      if (first_that_fits.has_value() && level > kLastThatMayBeFaster) break;
      if (!Unweighted(level)) return false;
      if (level == first && IsUseless()) return true;
      if (LastFits() && !first_that_fits.has_value()) first_that_fits = level;
    }
    const int levels_that_do_not_fit = first_that_fits.value_or(last + 1);
    for (int level = first; level < levels_that_do_not_fit; ++level) {
      if (!Weighted(level)) return false;
    }
    const bool has_plan = saver_.HasPlan();
    saver_.Settle();
    if (task_.faster_than.has_value() && !best_.fit().has_value()) return true;
    if (has_plan && !best_.fit().has_value()) {
      // Plans that fit by their estimates do not fit.
      saver_.LookAtAll();
      tried_.clear();
      return TryLevels();
    }
    const bool moves_steps = best_.fit().has_value() && best_.fit()->plan.moves_steps;
    if (task_.is_small() && (levels_that_do_not_fit > first || moves_steps)) Improve(first, last);
    return true;
  }

  std::optional<Fit> TakeBest() { return best_.Take(); }

  // The plan with the least peak with all savings, of all that were tried; of equal ones the first. Skips plans whose
  // lower bound is above another one's peak. REQUIRES: a plan was tried.
  SmallestPlan TakeSmallest() {
    SmallestPlan smallest = SmallestTried();
    const bool is_improved = saver_.smallest().has_value() && saver_.smallest()->peak() < smallest.peak();
    return is_improved ? *saver_.smallest() : smallest;
  }

  Estimator& estimator() { return *estimator_; }

 private:
  bool LastFits() const { return tried_.back().examined.fits; }

  // Whether the plan of the first level without a weight, which sends least, is slower than FitTask::faster_than even
  // if it need not fit.
  bool IsUseless() {
    if (!task_.faster_than.has_value()) return false;
    const Tried& unweighted = tried_.back();
    if (unweighted.examined.is_slow) return true;
    const Estimate* const estimate = saver_.EstimateOf(unweighted.plan);
    return estimate != nullptr && saver_.IsSlow(unweighted.plan, estimate->step);
  }

  // Tries the plan of this ZeRO level without a weight. False if the search failed.
  bool Unweighted(int zero) {
    if (!Try(0, zero)) return false;
    const double cost = tried_.back().plan.search.cost;
    // One unit for all levels, so that searches serve several of them.
    if (unit_ == 0) unit_ = cost > 0 ? cost / static_cast<double>(Peak(tried_.back()).value()) : 1;
    return true;
  }

  // Tries weights at this level: powers of two in coarse steps up to the first whose plan fits as it is, only a few if
  // some plan is known to fit. Then bisects the steps at which plans begin to fit, as they are and with savings. If the
  // plan of a large model under the greatest weight is far from fitting, the others are skipped. False if a search
  // failed.
  bool Weighted(int zero) {
    const SearchTuning& tuning = task_.tuning;
    const Tried& unweighted = *std::find_if(
        tried_.begin(), tried_.end(), [&](const Tried& tried) { return tried.zero == zero && tried.weight == 0; });
    if (task_.faster_than.has_value() && unweighted.examined.is_slow) return true;
    const bool fits_unweighted = unweighted.MayFit();
    const bool is_known = saver_.HasPlan();
    const int step = tuning.memory_exponent_step;
    const int last = is_known ? tuning.first_memory_exponent + 2 * step : tuning.last_memory_exponent;
    if (!is_known && !task_.is_small()) {
      if (!Try(std::exp2(tuning.last_memory_exponent), zero)) return false;
      if (!saver_.HasPlan() && !IsNear(tried_.back())) return true;
    }
    const auto fits = [&] { return LastFits(); };
    const auto may_fit = [&] { return tried_.back().MayFit(); };
    std::optional<int> as_it_is, with_savings;  // The first weights whose plans fit.
    for (int high = tuning.first_memory_exponent; high <= last && !as_it_is.has_value(); high += step) {
      if (!Try(std::exp2(high), zero)) return false;
      if (!fits_unweighted && !with_savings.has_value() && may_fit()) with_savings = high;
      if (LastFits()) as_it_is = high;
      // More weight makes plans slower.
      if (is_known && tried_.back().examined.is_slow) break;
    }
    if (with_savings == as_it_is) with_savings.reset();
    const int close = is_known ? 2 : 1;
    return BisectBelow(as_it_is, close, zero, fits) && BisectBelow(with_savings, close, zero, may_fit);
  }

  // Bisects between the exponent `first`, whose plan passes the test, and the one before it, until they differ by
  // `close`. Does nothing without `first`. False if a search failed.
  template <typename Test>
  bool BisectBelow(std::optional<int> first, int close, int zero, const Test& passes) {
    if (!first.has_value()) return true;
    int low = *first - task_.tuning.memory_exponent_step, high = *first;
    while (high - low > close) {
      const int middle = (low + high) / 2;
      if (!Try(std::exp2(middle), zero)) return false;
      (passes() ? high : low) = middle;
    }
    return true;
  }

  // Lets the task change the best plan, or if none fits the one with the least LeastMemory, as long as that makes it
  // better.
  void Improve(int first_zero, int last_zero) {
    const Tried* start = &tried_.front();
    for (const Tried& tried : tried_) {
      const std::optional<Fit>& best = best_.fit();
      const bool is_best = best.has_value() && tried.weight == best->weight && tried.zero == best->zero;
      if (is_best || (!best.has_value() && tried.examined.at_least < start->examined.at_least)) start = &tried;
    }
    PlanOrigin origin{.weight = start->weight, .zero = start->zero, .improved = 0};
    std::vector<Candidate>& candidates = saver_.candidates();
    size_t measured = 0;  // So many of them.
    const auto measure = [&] {
      const size_t first = std::exchange(measured, candidates.size());
      MeasureChoices(task_, absl::MakeSpan(candidates).subspan(first), /*beyond=*/0, best_, saver_);
    };
    task_.improve(start->weight, start->zero, [&](const PlanAt& plan_at, Trial trial) {
      if (trial == Trial::kAll) saver_.TryAll();
      const bool had_best = best_.fit().has_value();
      const Seconds before = had_best ? best_.seconds() : Seconds(0);
      std::optional<Bytes> least;
      IdVector<ir::OpId, ir::OpPlan> last;
      for (origin.zero = first_zero; origin.zero <= last_zero && !saver_.IsDone(); ++origin.zero) {
        const ir::Plan plan = plan_at(origin.zero);
        if (plan.ops == last) continue;  // There is nothing to divide.
        last = plan.ops;
        const Saver::Examined examined = ExaminedOf(plan, origin);
        if (best_.fit().has_value()) continue;
        const Bytes peak = examined.peak.value_or(examined.at_least);
        least = std::min(peak, least.value_or(peak));
        tried_.push_back(
            {.plan = plan, .weight = origin.weight, .zero = origin.zero, .examined = examined, .is_changed = true});
      }
      ++*origin.improved;
      if (trial == Trial::kAll) measure();
      const bool is_better = best_.fit().has_value() && (!had_best || best_.seconds() < before);
      return Reached{.step = is_better ? std::optional(best_.seconds()) : std::nullopt, .peak = least};
    });
    measure();
    MeasureChoices(task_, absl::MakeSpan(candidates), kBeyond, best_, saver_);
  }

  SmallestPlan SmallestTried() {
    std::vector<size_t> order(tried_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return tried_[a].examined.at_least < tried_[b].examined.at_least; });
    std::vector<std::pair<Bytes, size_t>> peaks;
    std::optional<Bytes> least;
    int changed_left = kMostChanged;
    for (const size_t i : order) {
      if (tried_[i].is_changed && --changed_left < 0) continue;
      if (least.has_value() && *least < tried_[i].examined.at_least) break;
      const std::optional<ir::Plan> parts = InParts(tried_[i]);
      Bytes peak = Peak(tried_[i]);
      if (parts.has_value()) peak = std::min(peak, LeastInOrder(*parts).value_or(peak));
      least = std::min(peak, least.value_or(peak));
      peaks.emplace_back(peak, i);
    }
    std::sort(peaks.begin(), peaks.end());
    std::optional<SmallestPlan> smallest;
    const size_t looked_at = task_.is_small() ? kMostSaved : 1;
    for (size_t i = 0; i < std::min(looked_at, peaks.size()); ++i) {
      SmallestPlan own = SmallestOf(tried_[peaks[i].second]);
      if (!smallest.has_value() || own.peak() < smallest->peak()) smallest = std::move(own);
    }
    return *std::move(smallest);
  }

  struct Tried {
    ir::Plan plan;  // Keeps everything.
    double weight = 0;
    int zero = 0;
    Saver::Examined examined = {};
    bool is_changed = false;  // By the task, where no plan fits: then there are many.

    bool MayFit() const { return examined.fits || examined.may_fit; }
  };

  bool Try(double weight, int zero) {
    std::optional<ir::Plan> plan = task_.plan_for(weight * unit_, zero);
    if (!plan.has_value()) return false;
    const Saver::Examined examined = ExaminedOf(*plan, {.weight = weight * unit_, .zero = zero});
    tried_.push_back({.plan = *std::move(plan), .weight = weight * unit_, .zero = zero, .examined = examined});
    return true;
  }

  Saver::Examined ExaminedOf(const ir::Plan& plan, const PlanOrigin& origin) {
    // Weights that differ little often give the same plan.
    const auto same =
        std::find_if(tried_.begin(), tried_.end(), [&](const Tried& other) { return other.plan.ops == plan.ops; });
    return same != tried_.end() ? same->examined : saver_.Examine(plan, origin);
  }

  // The plan in as many micro-batches as it can have, where the compiler chooses their number.
  std::optional<ir::Plan> InParts(const Tried& own) const {
    return task_.savings.micro_batches ? InMostMicroBatches(task_.model.graph(), own.plan) : std::nullopt;
  }

  // Whether the plan with all savings is near to the limit, or not known to be above it, so that another plan may fit.
  bool IsNear(const Tried& own) {
    const Bytes near = task_.limit.bytes + Bytes(task_.limit.bytes.value() / kNearPart);
    if (own.examined.at_least > near) return false;
    const Estimate* const estimate = saver_.EstimateOf(InParts(own).value_or(own.plan));
    if (estimate == nullptr) return true;
    if (!task_.savings.recomputes) return estimate->peak <= near;
    return task_.savings.asked.empty() ? estimate->ChoiceWithin(near).has_value() : estimate->least <= near;
  }

  // Without micro-batches and recomputation.
  Bytes Peak(Tried& own) {
    if (own.examined.peak.has_value()) return *own.examined.peak;
    const Estimate* const estimate = saver_.EstimateOf(own.plan);
    own.examined.peak = estimate != nullptr ? estimate->peak : PeakOf(*WholeProgramOf(AskedAndMoved(own.plan)));
    return *own.examined.peak;
  }

  // The least live bytes by the estimate; without an estimate the peak without recomputation. nullopt where the plan
  // has no program.
  std::optional<Bytes> LeastInOrder(const ir::Plan& plan) {
    const Estimate* const estimate = saver_.EstimateOf(plan);
    if (estimate != nullptr) return task_.savings.recomputes ? estimate->least : estimate->peak;
    const absl::StatusOr<ir::LoweredProgram> made = WholeProgramOf(AskedAndMoved(plan));
    return made.ok() ? std::optional(PeakOf(*made)) : std::nullopt;
  }

  // The plan with the user's retentions, and its steps moved.
  ir::Plan AskedAndMoved(const ir::Plan& plan) const {
    ir::Plan asked = WithAsked(plan, task_.savings.asked);
    asked.moves_steps = true;
    return asked;
  }

  // The plan with all savings; for large models only with the fewest and the most micro-batches.
  SmallestPlan SmallestOf(const Tried& tried) {
    std::optional<ir::Plan> parts = InParts(tried);
    if (parts.has_value() && !HasProgram(*parts, saver_.EstimateOf(*parts))) parts.reset();
    SmallestPlan smallest = WithRecomputation(tried, parts.value_or(tried.plan));
    if (!parts.has_value()) return smallest;
    for (ir::Plan plan = tried.plan; plan.micro_batches < parts->micro_batches;
         plan.micro_batches = task_.is_small() ? 2 * plan.micro_batches : parts->micro_batches) {
      const Estimate* const estimate = saver_.EstimateOf(plan);
      const bool is_larger = estimate != nullptr && estimate->least > smallest.peak();
      if (is_larger || !HasProgram(plan, estimate)) continue;
      SmallestPlan own = WithRecomputation(tried, plan);
      if (own.peak() < smallest.peak()) smallest = std::move(own);
    }
    return smallest;
  }

  // Whether the plan has a program with its micro-batches. A plan with an estimate has one.
  bool HasProgram(const ir::Plan& plan, const Estimate* estimate) const {
    return estimate != nullptr || WholeProgramOf(WithAsked(plan, task_.savings.asked)).ok();
  }

  absl::StatusOr<ir::LoweredProgram> WholeProgramOf(const ir::Plan& plan) const {
    return ProgramOf(task_.model.whole(), task_.model.Lengthened(plan), task_.cluster, task_.execution);
  }

  SmallestPlan WithRecomputation(const Tried& tried, const ir::Plan& plan) {
    return *WithAllSavings(task_, *estimator_, {.plan = plan, .weight = tried.weight, .zero = tried.zero});
  }

  const FitTask& task_;
  std::shared_ptr<Estimator> estimator_;
  double unit_ = 0;  // Of weights: the price of the first plan for each byte of its peak.
  std::vector<Tried> tried_;
  BestFit best_;
  Saver saver_;
};

}  // namespace

std::map<ir::OpId, ir::Retention> AskedFor(const ir::Pins& pins) {
  std::map<ir::OpId, ir::Retention> asked;
  for (const ir::RetentionPin& pin : pins.retentions) {
    asked[pin.op] = pin.retention;
  }
  return asked;
}

ir::Plan WithAsked(ir::Plan plan, const std::map<ir::OpId, ir::Retention>& asked) {
  for (const auto& [op, retention] : asked) {
    if (retention != ir::Retention::kKeep) plan.ops[op].retention = retention;
  }
  return plan;
}

std::optional<std::pair<ir::Plan, ir::LoweredProgram>> Smallest(const ir::Graph& training_graph, const Cluster& cluster,
                                                                const Execution& execution, const Savings& savings,
                                                                const SearchTuning& tuning, const ir::Plan& plan) {
  ir::Plan moved = plan;
  moved.moves_steps = true;
  absl::StatusOr<ir::LoweredProgram> kept = Keep(training_graph, moved, savings, cluster, execution);
  if (!kept.ok()) return std::nullopt;
  ir::Plan asked = WithAsked(std::move(moved), savings.asked);
  ir::Plan thrifty = asked;
  Apply(RecomputationOf(*kept, cluster, savings, tuning)->Smallest(), thrifty);
  ir::LoweredProgram program = MustMake(training_graph, thrifty, cluster, execution);
  // Gaps in the arena may take more than recomputation saves.
  ir::LoweredProgram as_asked =
      savings.asked.empty() ? *std::move(kept) : MustMake(training_graph, asked, cluster, execution);
  if (PeakOf(as_asked) <= PeakOf(program)) return std::pair(std::move(asked), std::move(as_asked));
  return std::pair(std::move(thrifty), std::move(program));
}

std::optional<ir::Plan> InMostMicroBatches(const ir::Graph& graph, const ir::Plan& plan) {
  ir::Plan parts = plan;
  const int64_t samples = SamplesOfRank(graph, plan);
  while (2 * parts.micro_batches <= samples && ir::WithTime(plan.mesh, 2 * parts.micro_batches).ok()) {
    parts.micro_batches *= 2;
  }
  if (const auto refusal = ir::FindRefusal(graph, parts)) parts.micro_batches = refusal->largest;
  return parts.micro_batches > plan.micro_batches ? std::optional(std::move(parts)) : std::nullopt;
}

std::optional<Fit> FitMemory(const FitTask& task, Diagnostics& diagnostics) {
  Fitter fitter(task);
  if (!fitter.TryLevels()) return std::nullopt;
  if (std::optional<Fit> best = fitter.TakeBest()) return best;
  if (task.faster_than.has_value()) return std::nullopt;
  SmallestPlan smallest = fitter.TakeSmallest();
  if (!task.is_small() && smallest.peak() <= task.limit.bytes) {
    // By the estimates it does not fit.
    ir::LoweredProgram program = MustMake(task.model.whole(), smallest.plan, task.cluster, task.execution);
    return Fit{.plan = std::move(smallest.plan),
               .program = std::move(program),
               .weight = smallest.weight,
               .zero = smallest.zero};
  }
  diagnostics.Add(NothingFits(task, smallest, fitter.estimator()));
  return std::nullopt;
}

int MostPlansPerLevel(const SearchTuning& tuning) {
  const int rungs = 1 + (tuning.last_memory_exponent - tuning.first_memory_exponent) / tuning.memory_exponent_step;
  int halvings = 0;
  for (int step = tuning.memory_exponent_step; step > 1; step -= step / 2) ++halvings;
  return 1 + rungs + halvings;
}

}  // namespace cleave::search
