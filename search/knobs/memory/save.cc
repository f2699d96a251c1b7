// Reading guide: Examine looks at one plan. Without an estimate MakeProgram makes its program for more and more
// micro-batches, and Recompute chooses what is made again. With an estimate ExamineByEstimates and ExamineMicroBatches
// only Defer what may fit, and Settle makes the programs of these, the fastest first.
#include "search/knobs/memory/save.h"

#include <algorithm>

#include "base/check/check.h"

namespace cleave::search {
namespace {

// A step takes at least this share of its plan's price, which does not know all kernels that are fused.
constexpr double kLeastOfPrice = 0.75;
// A step takes at least this share of its estimate, and at most 2 - kSurely.
constexpr double kSurely = 0.98;

// Interpolates estimates between two numbers of micro-batches: memory has a constant part and one in inverse
// proportion, the step is linear.
class MicroBatches {
 public:
  struct Point {
    int64_t count;
    const Estimate& estimate;
  };
  MicroBatches(Point low, Point high) : low_(low), high_(high) {}

  Bytes Peak(int64_t count) const { return Memory(low_.estimate.peak, high_.estimate.peak, count); }
  Bytes AtLeast(int64_t count) const { return Memory(low_.estimate.AtLeast(), high_.estimate.AtLeast(), count); }
  Seconds Step(int64_t count) const {
    const Seconds low = low_.estimate.step;
    return low + (high_.estimate.step - low) * ShareOf(count);
  }

 private:
  // The position of `count` between low (0) and high (1).
  double ShareOf(int64_t count) const {
    if (low_.count == high_.count) return 0;
    return static_cast<double>(count - low_.count) / static_cast<double>(high_.count - low_.count);
  }
  Bytes Memory(Bytes low, Bytes high, int64_t count) const {
    // Linear in 1 / count.
    const double share = ShareOf(count) * static_cast<double>(high_.count) / static_cast<double>(count);
    return low + Bytes(static_cast<int64_t>(static_cast<double>((high - low).value()) * share));
  }

  Point low_, high_;
};

}  // namespace

Saver::Saver(const FitTask& task, Estimator& estimator, BestFit& best)
    : task_(task),
      estimator_(estimator),
      best_(best),
      is_small_(task.is_small()),
      times_(task.model.Times()),
      most_programs_(task.tuning.improved_ops / static_cast<int64_t>(task.model.whole().ops.size())) {}

Saver::Examined Saver::Examine(const ir::Plan& plan, const PlanOrigin& origin) {
  Examined examined{.at_least = LeastMemory(task_.model.graph(), plan, times_)};
  if (examined.at_least > task_.limit.bytes) return examined;
  const bool is_slow = origin.improved.has_value() && !best_.MayBe(plan, Seconds(plan.search.cost * kLeastOfPrice));
  if (is_slow) return examined;
  if (const Estimate* const estimate = EstimateOf(plan)) {
    ExamineByEstimates(plan, origin, *estimate, examined);
    return examined;
  }
  const int64_t most = MostMicroBatches(plan);
  ir::Plan own = plan;
  while (own.micro_batches <= most && !IsDone()) {
    const std::optional<Bytes> least = MakeProgram(own, origin, !examined.peak.has_value(), examined);
    if (!least.has_value() || !task_.savings.micro_batches) break;
    own.micro_batches *= LeastFactor(examined.at_least, *least);
  }
  return examined;
}

int64_t Saver::MostMicroBatches(const ir::Plan& plan) const {
  return std::max(plan.micro_batches, SamplesOfRank(task_.model.graph(), plan));
}

const Estimate* Saver::EstimateOf(const ir::Plan& plan) { return estimator_.Of(WithAsked(plan, task_.savings.asked)); }

// `first`: the estimate of the plan as it is. With more micro-batches a step takes longer, but less must be made again.
// So from the fewest with which the plan fits as it is, smaller numbers are tried as long as they make the step faster.
void Saver::ExamineByEstimates(const ir::Plan& plan, const PlanOrigin& origin, const Estimate& first,
                               Examined& examined) {
  const Bytes limit = task_.limit.bytes;
  examined.peak = first.peak;
  examined.fits = first.peak <= limit;
  examined.is_slow = IsSlow(plan, first.step);
  if (examined.is_slow) return;
  if (!examined.fits && task_.savings.micro_batches) {
    ir::Plan own = plan;
    own.micro_batches *= LeastFactor(examined.at_least, first.least);
    ExamineMicroBatches(own, origin, examined);
  }
  // A single micro-batch has no sums over micro-batches, and may need less memory than all others.
  examined.may_fit |= Defer(plan, origin, /*is_first=*/true, first).has_value();
}

// Examines the plan with the micro-batches of `fewest` and their doubles, by estimates for two of these numbers
// (MicroBatches).
void Saver::ExamineMicroBatches(const ir::Plan& fewest, const PlanOrigin& origin, Examined& examined) {
  const Bytes limit = task_.limit.bytes;
  const int64_t most = MostMicroBatches(fewest);
  const Estimate* const low = fewest.micro_batches <= most ? EstimateOf(fewest) : nullptr;
  if (low == nullptr) return;
  ir::Plan own = fewest;
  const Estimate* high = low;
  for (Bytes peak = low->peak; peak > limit && 2 * own.micro_batches <= most; own.micro_batches *= 2) {
    peak = examined.at_least + Bytes((peak - examined.at_least).value() / 2);
  }
  for (; own.micro_batches > fewest.micro_batches; own.micro_batches /= 2) {
    const Estimate* const estimate = EstimateOf(own);
    if (estimate != nullptr) {
      high = estimate;
      break;
    }
  }
  const MicroBatches any({fewest.micro_batches, *low}, {own.micro_batches, *high});
  while (any.Peak(own.micro_batches) > limit && 2 * own.micro_batches <= most) own.micro_batches *= 2;
  Seconds again(0);
  std::optional<Seconds> before;
  for (; own.micro_batches >= fewest.micro_batches; own.micro_batches /= 2) {
    // Fewer need more memory and more recomputation.
    if (any.AtLeast(own.micro_batches) > Surely()) return;
    if (IsSlow(own, any.Step(own.micro_batches) + again * 0.5)) continue;
    const Estimate* const estimate = EstimateOf(own);
    if (estimate == nullptr) continue;
    const std::optional<Seconds> step = Defer(own, origin, /*is_first=*/false, *estimate);
    examined.may_fit |= step.has_value();
    if (!step.has_value() || (before.has_value() && *step > *before)) return;
    before = step;
    again = *step - estimate->step;
  }
}

bool Saver::IsSlow(const ir::Plan& plan, Seconds step) const {
  const Seconds at_least = step * kSurely;
  const bool is_slower = least_deferred_.has_value() && BestFit::CostOf(plan, at_least) >= *least_deferred_;
  return is_slower || !best_.MayBe(plan, at_least);
}

// Remembers a plan that may fit and returns its estimated step; nullopt where it fits with no recomputation.
std::optional<Seconds> Saver::Defer(const ir::Plan& plan, const PlanOrigin& origin, bool is_first,
                                    const Estimate& estimate) {
  const Bytes limit = task_.limit.bytes;
  const bool fits = estimate.peak <= limit;
  const bool is_asked = !task_.savings.asked.empty();
  if (!fits && (!task_.savings.recomputes || (estimate.AtLeast() > Surely() && !is_asked))) return std::nullopt;
  Deferred own{.plan = plan, .origin = origin, .is_first = is_first, .is_doubtful = !fits, .step = estimate.step};
  if (!fits && !is_asked) {
    if (std::optional<RecomputeChoice> again = estimate.ChoiceWithin(limit - Reserve())) {
      // Part of the recomputation may run beside communication, which only programs show.
      if (IsSlow(plan, estimate.step + again->seconds * 0.5)) return estimate.step + again->seconds;
      if (const auto taken = estimator_.With(plan, *again)) {
        own.is_doubtful = false;
        own.step = taken->step;
        own.within = {*std::move(again), *taken};
      }
    }
  }
  if (!own.is_doubtful && !looks_at_all_) {
    const std::pair<double, double> cost = BestFit::CostOf(plan, own.step * (2 - kSurely));
    least_deferred_ = std::min(cost, least_deferred_.value_or(cost));
  }
  const std::optional<Seconds> step = own.is_doubtful && !is_asked ? std::nullopt : std::optional(own.step);
  deferred_.push_back(std::move(own));
  return step;
}

void Saver::Settle() {
  std::vector<Deferred> deferred = std::exchange(deferred_, {});
  least_deferred_.reset();
  std::stable_sort(deferred.begin(), deferred.end(), [](const Deferred& a, const Deferred& b) {
    return BestFit::CostOf(a.plan, a.step) < BestFit::CostOf(b.plan, b.step);
  });
  const auto is_made = [&](const ir::Plan& plan) {
    return std::any_of(made_.begin(), made_.end(), [&](const Deferred& other) {
      return other.plan.micro_batches == plan.micro_batches && other.plan.ops == plan.ops;
    });
  };
  const auto make = [&](bool is_doubtful) {
    for (Deferred& own : deferred) {
      if (own.is_doubtful != is_doubtful || !best_.MayBe(own.plan, own.step * kSurely) || is_made(own.plan)) continue;
      Examined known;
      if (!own.within.has_value() || !OfferWithin(own)) MakeProgram(own.plan, own.origin, own.is_first, known);
      made_.push_back(std::move(own));
    }
  };
  make(/*is_doubtful=*/false);
  // Those that seldom fit: only where any plan is better than none.
  if (!best_.fit().has_value() && !task_.faster_than.has_value()) make(/*is_doubtful=*/true);
}

// Offers the plan with the recomputation that its estimate suggests. False where it does not fit.
bool Saver::OfferWithin(const Deferred& own) {
  constexpr int kAttempts = 2;
  Bytes more(0);  // By how much the program of all layers exceeds the estimate.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::optional<Estimator::Thrifty> found = FastestWithin(own, task_.limit.bytes - more);
    if (!found.has_value()) return false;
    if (!best_.MayBe(own.plan, found->taken.step * kSurely)) return true;
    ir::Plan whole = estimator_.WholeWith(own.plan, found->again);
    whole.moves_steps = true;
    ir::LoweredProgram program = MustMake(task_.model.whole(), whole, task_.cluster, task_.execution);
    const Offered offered = Offer(std::move(whole), std::move(program), own.origin);
    if (offered.seconds.has_value()) return true;
    more = offered.peak - found->taken.peak;
  }
  return false;
}

// The fastest recomputation found with which the plan's estimate is at most `limit`, and that estimate. A choice is
// made for the live bytes of few layers: if its estimate is above `limit` or far below, the limit of the choice is
// corrected by the difference.
std::optional<Estimator::Thrifty> Saver::FastestWithin(const Deferred& own, Bytes limit) {
  constexpr int kAttempts = 4;
  const Bytes much_less(limit.value() / 16);
  const Estimate* const estimate = EstimateOf(own.plan);
  const auto within = [&](Bytes left) -> std::optional<Estimator::Thrifty> {
    std::optional<RecomputeChoice> again = estimate->ChoiceWithin(task_.limit.bytes - left);
    if (!again.has_value()) return std::nullopt;
    const auto taken = estimator_.With(own.plan, *again);
    if (!taken.has_value()) return std::nullopt;
    return Estimator::Thrifty{*std::move(again), *taken};
  };
  std::optional<Estimator::Thrifty> best;
  std::optional<Bytes> enough, too_little;  // Bytes of the limit that a choice left unused.
  Bytes left = task_.limit.bytes - limit + Reserve();
  std::optional<Estimator::Thrifty> next = left == Reserve() ? own.within : within(left);
  for (int attempt = 1; next.has_value(); ++attempt) {
    const Estimator::Taken taken = next->taken;
    const bool fits = taken.peak <= limit;
    if (fits && (!best.has_value() || taken.step < best->taken.step)) best = std::move(next);
    if (attempt == kAttempts || (fits && limit - taken.peak <= much_less)) break;
    (fits ? enough : too_little) = left;
    left += taken.peak - limit + Reserve();
    if (enough.has_value() && too_little.has_value()) left = Bytes((enough->value() + too_little->value()) / 2);
    next = within(left);
  }
  return best;
}

// Makes the plan's program and offers it, with recomputation if it needs some. Returns a lower bound of its peak;
// nullopt where more micro-batches are not better. `is_first`: it has the fewest micro-batches.
std::optional<Bytes> Saver::MakeProgram(const ir::Plan& searched, const PlanOrigin& origin, bool is_first,
                                        Examined& examined) {
  const ir::Plan plan = task_.model.Lengthened(searched);
  ir::Plan asked = WithAsked(plan, task_.savings.asked);
  // The bounds for programs of small models are of steps in the order of the graph.
  asked.moves_steps = !is_first && !is_small_;
  absl::StatusOr<ir::LoweredProgram> made = ProgramOf(task_.model.whole(), asked, task_.cluster, task_.execution);
  CLEAVE_CHECK(made.ok() || !is_first) << made.status();
  if (!made.ok()) return std::nullopt;
  ++programs_;
  const Seconds seconds = SecondsOf(*made);
  Seconds at_least = seconds;
  std::optional<Candidate> candidate;
  if (is_small_ && task_.savings.recomputes) {
    candidate = CandidateOf(plan, *made, origin);
    at_least = std::min(at_least, candidate->at_least);
  }
  if (origin.improved.has_value() && !best_.MayBe(plan, at_least)) return std::nullopt;
  const bool fits_as_made = PeakOf(*made) <= task_.limit.bytes;
  MoveStepsToFit(task_.limit.bytes, asked, *made);
  const bool fits = PeakOf(*made) <= task_.limit.bytes;
  if (is_first) examined.peak = PeakOf(*made);
  if (is_first) examined.fits = fits;
  const bool may_be_best = best_.MayBe(plan, at_least);
  Bytes least = examined.at_least;
  if (!fits && may_be_best && task_.savings.recomputes) {
    const Bytes found = Recompute(plan, *made, seconds, origin);
    // Programs of small models are measured with each number of micro-batches.
    if (!is_small_) least = found;
  }
  // With moved steps the step is another.
  Offer(std::move(asked), *std::move(made), origin, fits_as_made ? std::optional(seconds) : std::nullopt);
  if (candidate.has_value() && may_be_best) {
    candidate->fits = fits;
    candidates_.push_back(*std::move(candidate));
  }
  return fits || !may_be_best ? std::nullopt : std::optional(least);
}

// The plan's program that makes nothing again: `program`, which has the user's retentions, or, if there are any,
// `other`, which is made.
const ir::LoweredProgram& Saver::KeptOf(const ir::Plan& plan, const ir::LoweredProgram& program,
                                        std::optional<ir::LoweredProgram>& other) const {
  if (task_.savings.asked.empty()) return program;
  return other.emplace(MustKeep(task_.model.whole(), plan, task_.savings, task_.cluster, task_.execution));
}

// `program`: of the plan with the user's retentions.
Candidate Saver::CandidateOf(const ir::Plan& plan, const ir::LoweredProgram& program, const PlanOrigin& origin) const {
  std::optional<ir::LoweredProgram> other;
  const ir::LoweredProgram& kept = KeptOf(plan, program, other);
  Candidate candidate{.plan = plan,
                      .origin = origin,
                      .seconds = SecondsOf(kept),
                      .workspace = PeakOf(kept) - kept.memory.storage.buffers.total,
                      .recomputation = RecomputationOf(kept, task_.cluster, task_.savings, task_.tuning)};
  candidate.at_least = candidate.seconds + candidate.recomputation->MostGain();
  return candidate;
}

// Offers the plan with the least recomputation with which it fits, and returns a lower bound of its peak with any.
// `program`: of the plan with the user's retentions and moved steps; its step takes `seconds`.
Bytes Saver::Recompute(const ir::Plan& plan, const ir::LoweredProgram& program, Seconds seconds,
                       const PlanOrigin& origin) {
  ir::Plan moved = plan;
  moved.moves_steps = true;
  std::optional<ir::LoweredProgram> other;
  const std::unique_ptr<Recomputation> recomputation =
      RecomputationOf(KeptOf(moved, program, other), task_.cluster, task_.savings, task_.tuning);
  const Bytes least = recomputation->LeastPeak();
  // Part of what is made again may run beside communication.
  const auto may_be_best = [&](const RecomputeChoice& choice) {
    return best_.MayBe(plan, seconds + choice.seconds * 0.5);
  };
  const Bytes limit = task_.limit.bytes;
  // Gaps in the arena and the workspace. A reserve makes one attempt mostly enough.
  Bytes besides = PeakOf(program) - recomputation->PeakAsAsked();
  Bytes reserve(limit.value() / 64);
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts && least <= limit - besides; ++attempt) {
    const std::optional<RecomputeChoice> choice = recomputation->Cheapest(limit - besides - reserve);
    if (!choice.has_value() && reserve == Bytes(0)) break;
    if (choice.has_value()) {
      if (!may_be_best(*choice)) return least;
      const Offered offered = OfferChoice(*choice, moved, origin);
      if (offered.seconds.has_value()) return least;
      // A little more, so that few attempts are needed.
      besides += reserve + offered.peak - limit + Bytes(limit.value() / 256);
    }
    reserve = Bytes(0);
  }
  // The program may need a little less than the choice. Where no plan of a small model fits, that is worth trying.
  const bool looks_for_smallest = is_small_ && !best_.fit().has_value();
  if (least > limit && !looks_for_smallest) return least;
  const RecomputeChoice smallest = recomputation->Smallest();
  const bool may_be_smallest =
      looks_for_smallest && (!smallest_.has_value() || smallest.peak + besides < smallest_->peak());
  if ((smallest.peak <= limit || may_be_smallest) && may_be_best(smallest)) OfferChoice(smallest, moved, origin);
  // A little more than the least may have been found.
  return std::max(least, Bytes(smallest.peak.value() / 9 * 8));
}

Saver::Offered Saver::OfferChoice(const RecomputeChoice& choice, const ir::Plan& plan, const PlanOrigin& origin) {
  ir::Plan thrifty = WithAsked(plan, task_.savings.asked);
  Apply(choice, thrifty);
  ir::LoweredProgram program = MustMake(task_.model.whole(), thrifty, task_.cluster, task_.execution);
  ++programs_;
  MoveStepsToFit(task_.limit.bytes, thrifty, program);
  return Offer(std::move(thrifty), std::move(program), origin);
}

Saver::Offered Saver::Offer(ir::Plan plan, ir::LoweredProgram program, const PlanOrigin& origin,
                            std::optional<Seconds> seconds) {
  const Bytes peak = PeakOf(program);
  Offered offered{.peak = peak};
  if (peak <= task_.limit.bytes) {
    offered.seconds = seconds.has_value() ? seconds : SecondsOf(program);
    best_.Offer({.plan = std::move(plan),
                 .program = std::move(program),
                 .weight = origin.weight,
                 .zero = origin.zero,
                 .improved = origin.improved},
                *offered.seconds);
  } else if (is_small_ && (!smallest_.has_value() || peak < smallest_->peak())) {
    smallest_ = {
        .plan = std::move(plan), .weight = origin.weight, .zero = origin.zero, .use = std::move(program.memory.use)};
  }
  return offered;
}

// The power of two by which micro-batches must grow before a plan with the lower bound `least` may fit: twice as many
// micro-batches need at least half of what is not there `throughout`.
int64_t Saver::LeastFactor(Bytes throughout, Bytes least) const {
  int64_t factor = 2;
  while (throughout.value() + (least - throughout).value() / factor > task_.limit.bytes.value()) factor *= 2;
  return factor;
}

}  // namespace cleave::search
