// Plans with the savings with which they fit: moved steps, recomputation, micro-batches. Private to
// search/knobs/memory.
//
//   Saver saver(task, estimator, best);
//   saver.Examine(plan, {.weight = weight, .zero = 1});
//   saver.Settle();  // Now `best` was offered what fits.
//
// Of deep models, which have estimates, programs are made last, those of the fastest plans first, so that few are. Of
// small ones programs are counted, and plans are remembered for all choices of what is made again (improve.h).
#ifndef CLEAVE_SEARCH_KNOBS_MEMORY_SAVE_H_
#define CLEAVE_SEARCH_KNOBS_MEMORY_SAVE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/units/units.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/memory/estimate.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/memory/refusal.h"
#include "search/knobs/recompute/recompute.h"

namespace cleave::search {

// With what a plan was made.
struct PlanOrigin {
  double weight = 0;
  int zero = 0;
  std::optional<int64_t> improved = {};  // Fit::improved.
};

// A plan of a small model with a number of micro-batches.
struct Candidate {
  ir::Plan plan;
  PlanOrigin origin;
  bool fits = false;  // With what the user asks for.
  // Of the program that keeps everything, with its steps in the order of the graph.
  Seconds seconds;
  Bytes workspace;
  std::unique_ptr<Recomputation> recomputation;
  Seconds at_least{0};  // Of a step, whatever is made again.
  // By what is made again: the time that the program takes for it, nullopt where it does not fit.
  std::map<std::map<ir::OpId, ir::Retention>, std::optional<Seconds>> measured = {};
};

class Saver {
 public:
  // All outlive it.
  Saver(const FitTask& task, Estimator& estimator, BestFit& best);

  // A plan as it is, with what the user asks for.
  struct Examined {
    Bytes at_least;
    std::optional<Bytes> peak = {};  // Measured or estimated; nullopt where it needs too much, or is surely too slow.
    bool fits = false;
    bool may_fit = false;  // By an estimate, with what is made again or in more micro-batches.
    bool is_slow = false;  // By an estimate another plan is faster, whatever is kept.
  };
  // Offers the plan, which keeps everything, if it fits, or else with the least recomputation and the fewest
  // micro-batches with which it fits. More of these than fit without recomputation only take more time. Of a deep model
  // at Settle.
  Examined Examine(const ir::Plan& plan, const PlanOrigin& origin);
  void Settle();
  // Of a plan with what the user asks for; null where there is none.
  const Estimate* EstimateOf(const ir::Plan& plan);
  // Whether a plan whose step takes about so long is slower than the best one, or than those that are looked for.
  bool IsSlow(const ir::Plan& plan, Seconds step) const;
  // Whether a plan fits, or does by an estimate.
  bool HasPlan() const { return best_.fit().has_value() || least_deferred_.has_value(); }
  // From now on plans are not left out because others are faster by an estimate.
  void LookAtAll() { looks_at_all_ = true; }

  struct Offered {
    Bytes peak;
    std::optional<Seconds> seconds = {};  // Of a step, if the plan fits.
  };
  // Offers the plan, which is one of the whole model, with a choice of what is made again.
  Offered OfferChoice(const RecomputeChoice& choice, const ir::Plan& plan, const PlanOrigin& origin);

  // --- Of small models.

  // Whether as many programs were made as the tuning allows.
  bool IsDone() const { return is_small_ && programs_ >= most_programs_; }
  // From now on as many are allowed as where all plans are tried.
  void TryAll() { most_programs_ = task_.tuning.tried_ops / static_cast<int64_t>(task_.model.whole().ops.size()); }
  // The examined plans that could be faster than the best one with a choice of what is made again.
  std::vector<Candidate>& candidates() { return candidates_; }
  // Of the programs that do not fit, the one that needs least.
  const std::optional<SmallestPlan>& smallest() const { return smallest_; }

 private:
  // A plan whose program is to be made, and the time of its step by an estimate, or at least.
  struct Deferred {
    ir::Plan plan;
    PlanOrigin origin;
    bool is_first = false;                          // As MakeProgram.
    bool is_doubtful = false;                       // Whether it is not known that it fits, by an estimate.
    std::optional<Estimator::Thrifty> within = {};  // What it makes again, where it does not fit as it is.
    Seconds step{0};
  };
  void ExamineByEstimates(const ir::Plan& plan, const PlanOrigin& origin, const Estimate& first, Examined& examined);
  void ExamineMicroBatches(const ir::Plan& fewest, const PlanOrigin& origin, Examined& examined);
  int64_t MostMicroBatches(const ir::Plan& plan) const;
  std::optional<Seconds> Defer(const ir::Plan& plan, const PlanOrigin& origin, bool is_first, const Estimate& estimate);
  std::optional<Estimator::Thrifty> FastestWithin(const Deferred& own, Bytes limit);
  std::optional<Bytes> MakeProgram(const ir::Plan& searched, const PlanOrigin& origin, bool is_first,
                                   Examined& examined);
  const ir::LoweredProgram& KeptOf(const ir::Plan& plan, const ir::LoweredProgram& program,
                                   std::optional<ir::LoweredProgram>& other) const;
  Candidate CandidateOf(const ir::Plan& plan, const ir::LoweredProgram& program, const PlanOrigin& origin) const;
  Bytes Recompute(const ir::Plan& plan, const ir::LoweredProgram& program, Seconds seconds, const PlanOrigin& origin);
  bool OfferWithin(const Deferred& own);
  // `seconds`: what a step of the program takes, where that is known.
  Offered Offer(ir::Plan plan, ir::LoweredProgram program, const PlanOrigin& origin,
                std::optional<Seconds> seconds = std::nullopt);
  // A little less than the limit is asked for, so that few attempts are needed.
  Bytes Reserve() const { return Bytes(task_.limit.bytes.value() / 256); }
  // What certainly does not fit.
  Bytes Surely() const { return task_.limit.bytes + Bytes(task_.limit.bytes.value() / 16); }
  int64_t LeastFactor(Bytes throughout, Bytes least) const;
  Seconds SecondsOf(const ir::LoweredProgram& program) const { return StepOf(program, task_.cluster, task_.execution); }

  const FitTask& task_;
  Estimator& estimator_;
  BestFit& best_;
  bool looks_at_all_ = false;
  std::vector<Deferred> deferred_, made_;
  // BestFit::CostOf, at most, of the best one that fits.
  std::optional<std::pair<double, double>> least_deferred_;
  const bool is_small_;
  const OpTimes times_;  // How many ops each one of the searched graph stands for.
  int64_t most_programs_;
  int64_t programs_ = 0;
  std::vector<Candidate> candidates_;
  std::optional<SmallestPlan> smallest_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_SAVE_H_
