// Reading guide: FitMemory goes through the ZeRO levels, Fitter::Weighted looks for the weight at one of them,
// Fitter::Save gives a plan that does not fit micro-batches and recomputation. Plans that by an estimate are slower
// than what fits, or do not fit whatever is made again, are left out before their programs are made.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/check/check.h"
#include "ir/program/order/order.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "search/memory/estimate.h"
#include "search/memory/memory.h"
#include "search/memory/refusal.h"
#include "search/recompute/recompute.h"

namespace cleave::search {
namespace {

Bytes PeakOf(const PlannedProgram& program) { return program.memory.use.prediction.peak; }

PlannedProgram MustMake(const ir::Graph& graph, const ir::Plan& plan, const ir::FuseOptions& fuse) {
  absl::StatusOr<PlannedProgram> made = ProgramOf(graph, plan, fuse);
  CLEAVE_CHECK(made.ok()) << made.status();
  return *std::move(made);
}

// The program that keeps everything, on the device or, where the user asks for it, on the host.
PlannedProgram MustKeep(const ir::Graph& graph, ir::Plan plan, const Savings& savings, const Execution& execution) {
  for (const auto& [op, retention] : savings.asked) {
    if (retention == ir::Retention::kOffload) plan.ops[op].retention = retention;
  }
  return MustMake(graph, plan, execution.fuse);
}

Recomputation RecomputationOf(const PlannedProgram& program, const Cluster& cluster, const Savings& savings,
                              const SearchTuning& tuning) {
  return Recomputation(program.distributed, program.program, program.memory, cluster, savings.asked, tuning);
}

// The most samples that a rank reads in a step.
int64_t SamplesOfRank(const ir::Graph& graph, const ir::Plan& plan) {
  int64_t samples = 1;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kInput || op.type.rank() == 0) continue;
    const ir::Layout layout = ir::OutputLayout(plan.ops[op.id].strategy, ir::RuleOf(graph, op));
    samples = std::max(samples, ir::LargestLocalShape(layout, plan.mesh, op.type.shape)[0]);
  }
  return samples;
}

class Fitter {
 public:
  explicit Fitter(const FitTask& task) : task_(task), estimator_(task.graph, task.cluster, task.execution) {}

  // Tries the plan of this ZeRO level in which memory has no price. False where the search failed.
  bool Unweighted(int zero) {
    if (!Try(0, zero)) return false;
    const double cost = tried_.back().plan.search.cost;
    // One unit for all levels, so that searches serve several of them.
    if (unit_ == 0) unit_ = cost > 0 ? cost / static_cast<double>(Peak(tried_.back()).value()) : 1;
    return true;
  }
  bool LastFits() const { return tried_.back().fits; }

  // Tries plans of this level in which memory has a price: a coarse ladder of weights up to the first whose plan fits.
  // Where no plan was known to fit, the last step of the ladder is bisected; else a few weights show whether cutting
  // tensors takes less time than what is known. False where a search failed.
  bool Weighted(int zero) {
    const SearchTuning& tuning = task_.tuning;
    const bool is_known = best_.has_value();
    const int step = tuning.memory_exponent_step;
    const int last = is_known ? tuning.first_memory_exponent + 2 * step : tuning.last_memory_exponent;
    int high = tuning.first_memory_exponent;
    for (;; high += step) {
      if (!Try(std::exp2(high), zero)) return false;
      if (LastFits()) break;
      if (high + step > last) return true;
    }
    if (is_known) return true;
    for (int low = high - step; high - low > 1;) {
      const int middle = (low + high) / 2;
      if (!Try(std::exp2(middle), zero)) return false;
      (LastFits() ? high : low) = middle;
    }
    return true;
  }

  // Lets the task change the best plan, or, where none fits, the one that needs least, while that makes it better.
  void Improve(int first_zero, int last_zero) {
    if (task_.improve == nullptr) return;
    const Tried* start = &tried_.front();
    for (const Tried& tried : tried_) {
      const bool is_best = best_.has_value() && tried.weight == best_->weight && tried.zero == best_->zero;
      if (is_best || (!best_.has_value() && tried.at_least < start->at_least)) start = &tried;
    }
    const double weight = start->weight;
    programs_ = 0;
    const int64_t most = task_.tuning.improved_ops / static_cast<int64_t>(task_.graph.ops.size());
    task_.improve(weight, start->zero, [&](const PlanAt& plan_at) {
      const std::pair<double, double> before = best_cost_;
      const bool had_best = best_.has_value();
      std::optional<Bytes> least;
      IdVector<ir::OpId, ir::OpPlan> last;
      for (int zero = first_zero; zero <= last_zero && programs_ < most; ++zero) {
        ir::Plan plan = plan_at(zero);
        if (plan.ops == last) continue;  // There is nothing to divide.
        last = plan.ops;
        Tried own = Tested({.plan = std::move(plan), .weight = weight, .zero = zero, .at_least = {}});
        if (!best_.has_value()) least = std::min(Peak(own), least.value_or(Peak(own)));
      }
      const bool is_better = best_.has_value() && (!had_best || best_cost_ < before);
      return Reached{.step = is_better ? std::optional(Seconds(best_cost_.second)) : std::nullopt, .peak = least};
    });
  }

  std::optional<Fit> TakeBest() { return std::move(best_); }

  // The plan that needs least, of all that were tried; of equal ones the first. Where a plan needs at least more than
  // another one needs in all, its program is not made. REQUIRES: a plan was tried.
  SmallestPlan TakeSmallest() {
    std::vector<size_t> order(tried_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return tried_[a].at_least < tried_[b].at_least; });
    std::optional<std::pair<Bytes, size_t>> least;
    for (const size_t i : order) {
      if (least.has_value() && least->first < tried_[i].at_least) break;
      const std::pair own(Peak(tried_[i]), i);
      if (!least.has_value() || own < *least) least = own;
    }
    const Tried& smallest = tried_[least->second];
    SmallestPlan result{.plan = smallest.plan, .weight = smallest.weight, .zero = smallest.zero, .use = {}};
    if (!task_.savings.recomputes) {
      result.use = MustMake(task_.graph, AskedAndMoved(smallest), task_.execution.fuse).memory.use;
      return result;
    }
    auto [plan, program] =
        Smallest(task_.graph, task_.cluster, task_.execution, task_.savings, task_.tuning, result.plan);
    result.plan = std::move(plan);
    result.use = std::move(program.memory.use);
    return result;
  }

 private:
  struct Tried {
    ir::Plan plan;  // Keeps everything.
    double weight = 0;
    int zero = 0;
    Bytes at_least;
    std::optional<Bytes> peak = {};  // With what the user asks for, measured or estimated.
    bool fits = false;               // Without micro-batches and recomputation.
  };

  bool Try(double weight, int zero) {
    std::optional<ir::Plan> plan = task_.plan_for(weight * unit_, zero);
    if (!plan.has_value()) return false;
    tried_.push_back(Tested({.plan = *std::move(plan), .weight = weight * unit_, .zero = zero, .at_least = {}}));
    return true;
  }

  // Makes and measures the program of the plan, and gives it savings where it needs them.
  Tried Tested(Tried own) {
    own.at_least = LeastMemory(task_.graph, own.plan);
    if (own.at_least > task_.limit.bytes) return own;
    if (const Tried* const same = SameAs(own); same != nullptr) {
      own.peak = same->peak;
      own.fits = same->fits;
      return own;
    }
    ir::Plan asked = WithAsked(own.plan, task_.savings.asked);
    if (const std::optional<Estimate> estimate = estimator_.Of(asked);
        estimate.has_value() && (IsSlower(asked, *estimate) || IsTooLarge(*estimate))) {
      own.peak = estimate->peak;
      own.fits = estimate->peak <= task_.limit.bytes;
      if (!IsSlower(asked, *estimate)) Save(own, estimate->least);
      return own;
    }
    PlannedProgram program = MustMake(task_.graph, asked, task_.execution.fuse);
    ++programs_;
    if (PeakOf(program) > task_.limit.bytes) {
      asked.moves_steps = true;
      ir::OrderForMemory(program.distributed.graph, program.program, program.memory);
    }
    own.peak = PeakOf(program);
    own.fits = *own.peak <= task_.limit.bytes;
    const Seconds seconds = SecondsOf(program);
    if (own.fits) {
      Offer(std::move(asked), std::move(program), seconds, own);
    } else if (MayBeBest(own.plan, seconds)) {
      ir::Plan moved = own.plan;
      moved.moves_steps = true;
      Save(own, task_.savings.recomputes ? Recompute(own, moved, program, seconds) : Bytes(0));
    }
    return own;
  }

  // Weights that differ little often give the same plan.
  const Tried* SameAs(const Tried& own) const {
    const auto same = std::find_if(tried_.begin(), tried_.end(), [&](const Tried& other) {
      return other.peak.has_value() && other.at_least == own.at_least && other.plan.ops == own.plan.ops;
    });
    return same == tried_.end() ? nullptr : &*same;
  }

  // The plan with what the user asks for and its steps moved.
  ir::Plan AskedAndMoved(const Tried& own) const {
    ir::Plan asked = WithAsked(own.plan, task_.savings.asked);
    asked.moves_steps = true;
    return asked;
  }

  // Estimated where layers are many.
  Bytes Peak(Tried& own) const {
    if (own.peak.has_value()) return *own.peak;
    const ir::Plan plan = AskedAndMoved(own);
    const std::optional<Estimate> estimate = estimator_.Of(plan);
    own.peak = estimate.has_value() ? estimate->peak : PeakOf(MustMake(task_.graph, plan, task_.execution.fuse));
    return *own.peak;
  }

  // Whether a step surely takes longer than one that fits.
  bool IsSlower(const ir::Plan& plan, const Estimate& estimate) const {
    constexpr double kSurely = 0.97;
    return !MayBeBest(plan, estimate.step * kSurely);
  }

  // Whether the plan surely does not fit, whatever is made again.
  bool IsTooLarge(const Estimate& estimate) const {
    const Bytes surely = task_.limit.bytes + Bytes(task_.limit.bytes.value() / 32);
    return task_.savings.recomputes && task_.savings.asked.empty() && estimate.least > surely;
  }

  // Looks for the fewest micro-batches and the least recomputation with which the plan fits, whose steps are moved to
  // where they take less memory. It needs at least `least` without more micro-batches. More of them than fit without
  // recomputation only take more time.
  void Save(const Tried& own, Bytes least) {
    const int64_t samples = SamplesOfRank(task_.graph, own.plan);
    ir::Plan plan = own.plan;
    plan.moves_steps = true;
    while (task_.savings.micro_batches) {
      plan.micro_batches *= LeastFactor(own, least);
      if (plan.micro_batches > samples) return;
      const ir::Plan asked = WithAsked(plan, task_.savings.asked);
      const std::optional<Estimate> estimate = estimator_.Of(asked);
      if (estimate.has_value() && IsSlower(asked, *estimate)) return;
      if (estimate.has_value() && IsTooLarge(*estimate)) {
        least = estimate->least;
        continue;
      }
      absl::StatusOr<PlannedProgram> made = ProgramOf(task_.graph, asked, task_.execution.fuse);
      ++programs_;
      if (!made.ok()) return;
      const Seconds seconds = SecondsOf(*made);
      if (PeakOf(*made) <= task_.limit.bytes) {
        Offer(asked, *std::move(made), seconds, own);
        return;
      }
      if (!MayBeBest(plan, seconds)) return;
      if (task_.savings.recomputes) least = Recompute(own, plan, *made, seconds);
    }
  }

  // The power of two by which micro-batches must be more so that the plan may fit, where it needs at least `least`:
  // those of half as many samples need at least half of what is not there throughout.
  int64_t LeastFactor(const Tried& own, Bytes least) const {
    int64_t factor = 2;
    while (own.at_least.value() + (least - own.at_least).value() / factor > task_.limit.bytes.value()) factor *= 2;
    return factor;
  }

  // Returns what the plan needs at least with recomputation. `program` is that of `plan` with what the user asks for,
  // and takes `seconds`.
  Bytes Recompute(const Tried& own, const ir::Plan& plan, const PlannedProgram& program, Seconds seconds) {
    const bool keeps_all = task_.savings.asked.empty();
    Recomputation recomputation =
        RecomputationOf(keeps_all ? program : MustKeep(task_.graph, plan, task_.savings, task_.execution),
                        task_.cluster, task_.savings, task_.tuning);
    const Bytes least = recomputation.LeastPeak();
    // Part of what is made again may run beside communication.
    const auto may_be_best = [&](const RecomputeChoice& choice) {
      return MayBeBest(plan, seconds + choice.seconds * 0.5);
    };
    const Bytes limit = task_.limit.bytes;
    const bool is_small = task_.improve != nullptr;
    // What the program takes besides the values that are live: gaps in the arena, the workspace. Of a large model a
    // little more is left at first, so that one attempt mostly is enough.
    Bytes besides = PeakOf(program) - recomputation.PeakAsAsked();
    Bytes reserve(is_small ? 0 : limit.value() / 64);
    constexpr int kAttempts = 4;
    for (int attempt = 0; attempt < kAttempts && least <= limit - besides; ++attempt) {
      const std::optional<RecomputeChoice> choice = recomputation.Cheapest(limit - besides - reserve);
      if (!choice.has_value() && reserve == Bytes(0)) break;
      if (choice.has_value()) {
        if (!may_be_best(*choice)) return least;
        const Bytes peak = OfferChoice(*choice, plan, own);
        if (peak <= limit) return least;
        // A little more, so that few attempts are needed.
        besides += reserve + peak - limit + Bytes(limit.value() / 256);
      }
      reserve = Bytes(0);
    }
    if (least > limit && !is_small) return least;
    const RecomputeChoice smallest = recomputation.Smallest();
    // The program may need a little less than the choice. For small models that is worth trying.
    if ((smallest.peak <= limit || is_small) && may_be_best(smallest)) OfferChoice(smallest, plan, own);
    // A little more than the least may have been found.
    return std::max(least, Bytes(smallest.peak.value() / 9 * 8));
  }

  // Returns the peak of `plan` with the choice, and offers it if it fits.
  Bytes OfferChoice(const RecomputeChoice& choice, const ir::Plan& plan, const Tried& own) {
    ir::Plan thrifty = WithAsked(plan, task_.savings.asked);
    Apply(choice, thrifty);
    PlannedProgram program = MustMake(task_.graph, thrifty, task_.execution.fuse);
    ++programs_;
    const Bytes peak = PeakOf(program);
    const Seconds seconds = SecondsOf(program);
    if (peak <= task_.limit.bytes) Offer(std::move(thrifty), std::move(program), seconds, own);
    return peak;
  }

  Seconds SecondsOf(const PlannedProgram& program) const { return StepOf(program, task_.cluster, task_.execution); }

  // What is made least: the time of a step where that is the price, else the price, then the time.
  static std::pair<double, double> CostOf(const ir::Plan& plan, Seconds seconds) {
    return {plan.search.price == "time" ? 0 : plan.search.cost, seconds.value()};
  }

  bool MayBeBest(const ir::Plan& plan, Seconds at_least) const {
    return !best_.has_value() || CostOf(plan, at_least) < best_cost_;
  }

  void Offer(ir::Plan plan, PlannedProgram program, Seconds seconds, const Tried& own) {
    if (!MayBeBest(plan, seconds)) return;
    best_cost_ = CostOf(plan, seconds);
    best_ = Fit{.plan = std::move(plan), .program = std::move(program), .weight = own.weight, .zero = own.zero};
  }

  const FitTask& task_;
  const Estimator estimator_;
  double unit_ = 0;  // Of weights: the price of the first plan for each byte of its peak.
  std::vector<Tried> tried_;
  int64_t programs_ = 0;  // That were made to try plans.
  std::optional<Fit> best_;
  std::pair<double, double> best_cost_;
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

std::pair<ir::Plan, PlannedProgram> Smallest(const ir::Graph& training_graph, const Cluster& cluster,
                                             const Execution& execution, const Savings& savings,
                                             const SearchTuning& tuning, const ir::Plan& plan) {
  ir::Plan moved = plan;
  moved.moves_steps = true;
  PlannedProgram kept = MustKeep(training_graph, moved, savings, execution);
  ir::Plan asked = WithAsked(std::move(moved), savings.asked);
  ir::Plan thrifty = asked;
  Apply(RecomputationOf(kept, cluster, savings, tuning).Smallest(), thrifty);
  PlannedProgram program = MustMake(training_graph, thrifty, execution.fuse);
  // Gaps in the arena may take more than recomputation saves.
  PlannedProgram as_asked = savings.asked.empty() ? std::move(kept) : MustMake(training_graph, asked, execution.fuse);
  if (PeakOf(as_asked) <= PeakOf(program)) return {std::move(asked), std::move(as_asked)};
  return {std::move(thrifty), std::move(program)};
}

std::optional<std::pair<int64_t, Bytes>> InMostMicroBatches(const FitTask& task, const ir::Plan& plan) {
  ir::Plan parts = plan;
  const int64_t samples = SamplesOfRank(task.graph, plan);
  while (2 * parts.micro_batches <= samples) parts.micro_batches *= 2;
  if (const auto refusal = ir::FindRefusal(task.graph, parts)) parts.micro_batches = refusal->largest;
  if (parts.micro_batches <= plan.micro_batches) return std::nullopt;
  const absl::StatusOr<PlannedProgram> made = ProgramOf(task.graph, parts, task.execution.fuse);
  return made.ok() ? std::optional(std::pair(parts.micro_batches, PeakOf(*made))) : std::nullopt;
}

std::optional<Fit> FitMemory(const FitTask& task, Diagnostics& diagnostics) {
  Fitter fitter(task);
  const int first = task.zero.value_or(0);
  int level = first;
  for (;; ++level) {
    if (!fitter.Unweighted(level)) return std::nullopt;
    // More division than fits does not send less.
    if (fitter.LastFits() || level == task.zero.value_or(3)) break;
  }
  const int levels_that_do_not_fit = fitter.LastFits() ? level : level + 1;
  for (level = first; level < levels_that_do_not_fit; ++level) {
    if (!fitter.Weighted(level)) return std::nullopt;
  }
  fitter.Improve(first, std::max(first, levels_that_do_not_fit - 1));
  if (std::optional<Fit> best = fitter.TakeBest()) return best;
  diagnostics.Add(NothingFits(task, fitter.TakeSmallest()));
  return std::nullopt;
}

int MostPlansPerLevel(const SearchTuning& tuning) {
  const int rungs = 1 + (tuning.last_memory_exponent - tuning.first_memory_exponent) / tuning.memory_exponent_step;
  int halvings = 0;
  for (int step = tuning.memory_exponent_step; step > 1; step -= step / 2) ++halvings;
  return 1 + rungs + halvings;
}

}  // namespace cleave::search
