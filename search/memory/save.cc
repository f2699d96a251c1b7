#include "search/memory/save.h"

#include <algorithm>

#include "base/check/check.h"

namespace cleave::search {
namespace {

// A program takes at least this share of its plan's price, which leaves out what becomes part of other kernels.
constexpr double kLeastOfPrice = 0.75;
// A step takes at least this share of the time that is estimated for it, and as much more at most.
constexpr double kSurely = 0.98;

ir::Plan Moved(ir::Plan plan) {
  plan.moves_steps = true;
  return plan;
}

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
  const int64_t most = std::max(plan.micro_batches, SamplesOfRank(task_.model.graph(), plan));
  ir::Plan own = plan;
  while (own.micro_batches <= most && !IsDone()) {
    const std::optional<Bytes> least = Try(own, origin, examined);
    if (!least.has_value() || !task_.savings.micro_batches) break;
    own.micro_batches *= LeastFactor(examined.at_least, *least);
  }
  return examined;
}

// Returns what the plan, which keeps everything, needs at least; nullopt where more micro-batches are not better.
std::optional<Bytes> Saver::Try(const ir::Plan& plan, const PlanOrigin& origin, Examined& examined) {
  const bool is_first = !examined.peak.has_value();
  ir::Plan asked = WithAsked(plan, task_.savings.asked);
  asked.moves_steps = !is_first;
  const Estimate* const estimate = estimator_.Of(asked);
  if (estimate == nullptr) return MakeProgram(plan, origin, is_first, examined);
  return Defer(plan, origin, is_first, *estimate, examined);
}

// As Try.
std::optional<Bytes> Saver::Defer(const ir::Plan& plan, const PlanOrigin& origin, bool is_first,
                                  const Estimate& estimate, Examined& examined) {
  const Bytes limit = task_.limit.bytes;
  const Seconds at_least = estimate.step * kSurely;
  const bool is_slower = least_deferred_.has_value() && BestFit::CostOf(plan, at_least) >= *least_deferred_;
  const bool is_slow = is_slower || !best_.MayBe(plan, at_least);
  const bool fits = estimate.peak <= limit;
  if (is_first) examined = {.at_least = examined.at_least, .peak = estimate.peak, .fits = fits, .is_slow = is_slow};
  if (is_slow) return std::nullopt;
  const bool is_asked = !task_.savings.asked.empty();
  const Bytes surely = limit + Bytes(limit.value() / 16);
  if (!fits && (!task_.savings.recomputes || (estimate.AtLeast() > surely && !is_asked))) return estimate.least;
  std::optional<Seconds> within;
  if (fits) {
    within = estimate.step;
  } else if (!is_asked) {
    within = estimator_.StepWithin(Moved(plan), limit - Reserve());
  }
  const Seconds step = within.value_or(estimate.step);
  deferred_.push_back({.plan = plan,
                       .origin = origin,
                       .is_first = is_first,
                       .is_doubtful = !within.has_value(),
                       .saves = !fits && within.has_value(),
                       .step = step});
  if (within.has_value() && !looks_at_all_) {
    const std::pair<double, double> cost = BestFit::CostOf(plan, step * (2 - kSurely));
    least_deferred_ = std::min(cost, least_deferred_.value_or(cost));
  }
  return fits ? std::nullopt : std::optional(estimate.least);
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
      if (!own.saves || !OfferWithin(own)) MakeProgram(own.plan, own.origin, own.is_first, known);
      made_.push_back(std::move(own));
    }
  };
  make(/*is_doubtful=*/false);
  if (!best_.fit().has_value()) make(/*is_doubtful=*/true);
}

// Offers the plan with what its estimate says that must be made again. Where its program takes more than was estimated,
// or much less, tries again with an estimate that is as far off. False where it does not fit.
bool Saver::OfferWithin(const Deferred& own) {
  constexpr int kAttempts = 3;
  const ir::Plan moved = Moved(own.plan);
  const Bytes limit = task_.limit.bytes;
  const Bytes much_less(limit.value() / 16);
  std::optional<Bytes> enough, too_little;  // What was left.
  Bytes left = Reserve();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::optional<ir::Plan> plan = estimator_.PlanWithin(moved, limit - left);
    if (!plan.has_value()) break;
    const Bytes peak = Offer(*plan, MustMake(task_.model.whole(), *plan, task_.execution), own.origin).peak;
    if (peak <= limit && limit - peak <= much_less) return true;
    (peak <= limit ? enough : too_little) = left;
    left += peak - limit + Reserve();
    if (enough.has_value() && too_little.has_value()) left = Bytes((enough->value() + too_little->value()) / 2);
  }
  return enough.has_value();
}

// As Try. `is_first`: the plan has as few micro-batches as it can.
std::optional<Bytes> Saver::MakeProgram(const ir::Plan& searched, const PlanOrigin& origin, bool is_first,
                                        Examined& examined) {
  const ir::Plan plan = task_.model.Lengthened(searched);
  ir::Plan asked = WithAsked(plan, task_.savings.asked);
  // The bounds for programs of small models are of steps in the order of the graph.
  asked.moves_steps = !is_first && !is_small_;
  absl::StatusOr<PlannedProgram> made = ProgramOf(task_.model.whole(), asked, task_.execution);
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
  Offer(std::move(asked), *std::move(made), origin);
  if (candidate.has_value() && may_be_best) {
    candidate->fits = fits;
    candidates_.push_back(*std::move(candidate));
  }
  return fits || !may_be_best ? std::nullopt : std::optional(least);
}

// The program that keeps everything: `program`, which has what the user asks for, or where that is something, `other`.
const PlannedProgram& Saver::KeptOf(const ir::Plan& plan, const PlannedProgram& program,
                                    std::optional<PlannedProgram>& other) const {
  if (task_.savings.asked.empty()) return program;
  return other.emplace(MustKeep(task_.model.whole(), plan, task_.savings, task_.execution));
}

// `program` is that of the plan with what the user asks for.
Candidate Saver::CandidateOf(const ir::Plan& plan, const PlannedProgram& program, const PlanOrigin& origin) const {
  std::optional<PlannedProgram> other;
  const PlannedProgram& kept = KeptOf(plan, program, other);
  Candidate candidate{.plan = plan,
                      .origin = origin,
                      .seconds = SecondsOf(kept),
                      .workspace = PeakOf(kept) - kept.memory.storage.buffers.total,
                      .recomputation = RecomputationOf(kept, task_.cluster, task_.savings, task_.tuning)};
  candidate.at_least = candidate.seconds + candidate.recomputation->MostGain();
  return candidate;
}

// Offers the least recomputation with which the plan fits, and returns what it needs at least with any. `program` is
// that of the plan with what the user asks for and moved steps, and takes `seconds`.
Bytes Saver::Recompute(const ir::Plan& plan, const PlannedProgram& program, Seconds seconds, const PlanOrigin& origin) {
  ir::Plan moved = plan;
  moved.moves_steps = true;
  std::optional<PlannedProgram> other;
  const std::unique_ptr<Recomputation> recomputation =
      RecomputationOf(KeptOf(moved, program, other), task_.cluster, task_.savings, task_.tuning);
  const Bytes least = recomputation->LeastPeak();
  // Part of what is made again may run beside communication.
  const auto may_be_best = [&](const RecomputeChoice& choice) {
    return best_.MayBe(plan, seconds + choice.seconds * 0.5);
  };
  const Bytes limit = task_.limit.bytes;
  // What the program takes besides the values that are live: gaps in the arena, the workspace. A little more is left at
  // first, so that one attempt mostly is enough.
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
  if (least > limit && !is_small_) return least;
  const RecomputeChoice smallest = recomputation->Smallest();
  // The program may need a little less than the choice. For small models that is worth trying.
  if ((smallest.peak <= limit || is_small_) && may_be_best(smallest)) OfferChoice(smallest, moved, origin);
  // A little more than the least may have been found.
  return std::max(least, Bytes(smallest.peak.value() / 9 * 8));
}

Saver::Offered Saver::OfferChoice(const RecomputeChoice& choice, const ir::Plan& plan, const PlanOrigin& origin) {
  ir::Plan thrifty = WithAsked(plan, task_.savings.asked);
  Apply(choice, thrifty);
  PlannedProgram program = MustMake(task_.model.whole(), thrifty, task_.execution);
  ++programs_;
  MoveStepsToFit(task_.limit.bytes, thrifty, program);
  return Offer(std::move(thrifty), std::move(program), origin);
}

Saver::Offered Saver::Offer(ir::Plan plan, PlannedProgram program, const PlanOrigin& origin) {
  const Bytes peak = PeakOf(program);
  Offered offered{.peak = peak};
  if (peak <= task_.limit.bytes) {
    offered.seconds = SecondsOf(program);
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

// The power of two by which micro-batches must be more so that a plan may fit that needs at least `least`: those of
// half as many samples need at least half of what is not there throughout.
int64_t Saver::LeastFactor(Bytes throughout, Bytes least) const {
  int64_t factor = 2;
  while (throughout.value() + (least - throughout).value() / factor > task_.limit.bytes.value()) factor *= 2;
  return factor;
}

}  // namespace cleave::search
