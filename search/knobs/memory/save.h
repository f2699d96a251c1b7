// Gives plans the savings with which they fit: moved steps, recomputation, micro-batches. Private to
// search/knobs/memory.
//
//   Saver saver(task, estimator, best);
//   saver.Examine(plan, {.weight = weight, .zero = 1});
//   saver.Settle();  // Now `best` has the best plan that fits.
//
// For deep models, which have estimates, Settle makes the programs, by ascending estimate, so that few are made. For
// small models the number of programs is bounded, and examined plans are kept as candidates for all choices of
// recomputation (improve.h).
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

// The arguments of PlanFor that made a plan, and Fit::improved.
struct PlanOrigin {
  double weight = 0;
  int zero = 0;
  std::optional<int64_t> improved = {};
};

// A plan of a small model, whose recomputation may still be improved.
struct Candidate {
  ir::Plan plan;
  PlanOrigin origin;
  bool fits = false;  // With the user's retentions alone.
  // Of the program that makes nothing again, with its steps in the order of the graph.
  Seconds seconds;
  Bytes workspace;
  std::unique_ptr<Recomputation> recomputation;
  Seconds at_least{0};  // A step is never faster, whatever is made again.
  // By choice of recomputation: how much longer its step is than `seconds`; nullopt where it does not fit.
  std::map<std::map<ir::OpId, ir::Retention>, std::optional<Seconds>> measured = {};
};

class Saver {
 public:
  // All outlive it.
  Saver(const FitTask& task, Estimator& estimator, BestFit& best);

  // What is known of a plan with the user's retentions alone.
  struct Examined {
    Bytes at_least;
    std::optional<Bytes> peak = {};  // Measured or estimated; nullopt: too much, or too slow.
    bool fits = false;
    bool may_fit = false;  // By an estimate, with recomputation or more micro-batches.
    bool is_slow = false;  // By an estimate: another plan is faster, even if this one makes nothing again.
  };
  // Offers `plan`, which makes nothing again, to `best` if it fits; else with more micro-batches, up to the first
  // number that fits without recomputation, each with the least recomputation with which it fits. For a deep model
  // Settle does so.
  Examined Examine(const ir::Plan& plan, const PlanOrigin& origin);
  void Settle();
  // The estimate of the plan with the user's retentions; null where there is none.
  const Estimate* EstimateOf(const ir::Plan& plan);
  // Whether a plan with an estimated step of `step` is slower than the best one, or than FitTask::faster_than.
  bool IsSlow(const ir::Plan& plan, Seconds step) const;
  // Whether some examined plan fits, measured or by an estimate.
  bool HasPlan() const { return best_.fit().has_value() || least_deferred_.has_value(); }
  // From now on plans are examined even if others are faster by an estimate.
  void LookAtAll() { looks_at_all_ = true; }

  struct Offered {
    Bytes peak;
    std::optional<Seconds> seconds = {};  // Of a step, if the plan fits.
  };
  // Offers `plan`, one of the whole model, with `choice`, and returns what its program takes.
  Offered OfferChoice(const RecomputeChoice& choice, const ir::Plan& plan, const PlanOrigin& origin);

  // --- For small models.

  // Whether the bound of programs is reached.
  bool IsDone() const { return is_small_ && programs_ >= most_programs_; }
  // Raises the bound to that for trying all plans.
  void TryAll() { most_programs_ = task_.tuning.tried_ops / static_cast<int64_t>(task_.model.whole().ops.size()); }
  // The examined plans that could be faster than the best one with some recomputation.
  std::vector<Candidate>& candidates() { return candidates_; }
  // The program with the least peak of those that do not fit.
  const std::optional<SmallestPlan>& smallest() const { return smallest_; }

 private:
  // A plan whose program Settle may make, and its estimated step, or a lower bound of it.
  struct Deferred {
    ir::Plan plan;
    PlanOrigin origin;
    bool is_first = false;                          // As MakeProgram.
    bool is_doubtful = false;                       // No estimate says that it fits.
    std::optional<Estimator::Thrifty> within = {};  // Its recomputation, where it needs some.
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
  // `seconds`: the step of the program, where that is known.
  Offered Offer(ir::Plan plan, ir::LoweredProgram program, const PlanOrigin& origin,
                std::optional<Seconds> seconds = std::nullopt);
  // Recomputation is chosen for so much less than the limit, so that few attempts are needed.
  Bytes Reserve() const { return Bytes(task_.limit.bytes.value() / 256); }
  // What is estimated to need more certainly does not fit.
  Bytes Surely() const { return task_.limit.bytes + Bytes(task_.limit.bytes.value() / 16); }
  int64_t LeastFactor(Bytes throughout, Bytes least) const;
  Seconds SecondsOf(const ir::LoweredProgram& program) const { return StepOf(program, task_.cluster, task_.execution); }

  const FitTask& task_;
  Estimator& estimator_;
  BestFit& best_;
  bool looks_at_all_ = false;
  std::vector<Deferred> deferred_, made_;
  // An upper bound of BestFit::CostOf of the best deferred plan that fits.
  std::optional<std::pair<double, double>> least_deferred_;
  const bool is_small_;
  const OpTimes times_;  // By op of the searched graph, how many it stands for.
  int64_t most_programs_;
  int64_t programs_ = 0;
  std::vector<Candidate> candidates_;
  std::optional<SmallestPlan> smallest_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_SAVE_H_
