// Pipelines of a number of stages under one schedule: a plan for the ranks of one stage, cut where a step is fastest.
// Private to search.
//
//   StagePlans plans(task, stages, *MachinesOfStage(cluster, stages));
//   const Staging staging(plans, schedule);
//   // About how long a step takes, for several numbers of micro-batches; then the pipeline with one of them.
//   const std::vector<StagingEstimate> estimates = staging.Estimates(/*is_only=*/true, /*below=*/{}, refused);
//   const PipelineOutcome found = staging.Fit(estimates.front(), /*below=*/std::nullopt);
#ifndef CLEAVE_SEARCH_KNOBS_STAGING_H_
#define CLEAVE_SEARCH_KNOBS_STAGING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/sharding/stages/stages.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/options.h"
#include "search/knobs/stage_plans.h"
#include "search/solve/stages/stages.h"

namespace cleave::search {

// A plan, its program, and how long a step takes.
struct PipelinePlan {
  Found found;
  Seconds step{0};
};

struct PipelineOutcome {
  std::optional<PipelinePlan> plan = {};
  Diagnostics diagnostics = {};  // Of the plan, or why there is none.

  bool IsFasterThan(const PipelineOutcome& other) const {
    return plan.has_value() && (!other.plan.has_value() || plan->step < other.plan->step);
  }
};

// A step takes at least this share of what follows from the times of ops.
inline constexpr double kSurely = 0.97;

// About how long a step takes with a number of micro-batches, if memory is no matter; nullopt where nobody asked.
struct StagingEstimate {
  int64_t micro_batches = 1;
  std::optional<Seconds> step = {};
};

class Staging {
 public:
  // `plans` outlives it.
  Staging(StagePlans& plans, ir::PipelineSchedule schedule);

  // For the number that is asked for, or for those among which the fastest is. Empty after errors, in `refused`.
  // `is_only`: nothing is compared with them, so that a single number needs no estimate. Of what cannot be faster than
  // `below`, the estimate is what a rank works.
  std::vector<StagingEstimate> Estimates(bool is_only, std::optional<Seconds> below, Diagnostics& refused) const;

  // The fastest pipeline with so many micro-batches that was found, if a step takes less than `below`. No plan, and no
  // errors, where it does not; errors where there is none, or none fits into memory.
  PipelineOutcome Fit(const StagingEstimate& estimate, std::optional<Seconds> below) const;

 private:
  // A plan with stages, and about when a step ends with it.
  struct CutPlan {
    ir::Plan plan;
    Seconds end;
  };
  // Cuts, and about when a step ends with them.
  struct Way {
    std::vector<int64_t> cuts;
    Seconds end;
  };

  int64_t StagesInAll() const { return stages_ * schedule_.stages_per_rank; }
  std::vector<int64_t> MicroBatchCounts() const;
  Diagnostic RefusedCount() const;
  void WarnOfBubble(PipelineOutcome& outcome) const;
  Diagnostic NothingFits(std::optional<Bytes> least) const;
  std::optional<PipelinePlan> WithRecomputation(const PipelinePlan& candidate) const;
  std::optional<CutPlan> Cut(const ir::Plan& plan, CutTask task, Diagnostics& diagnostics) const;
  std::optional<PipelinePlan> Made(ir::Plan plan, Diagnostics& diagnostics) const;
  std::optional<Way> FastestCuts(CutTask task, int64_t micro_batches) const;
  Seconds EndOf(const CutTask& task, const std::vector<int64_t>& cuts, int64_t micro_batches) const;

  StagePlans& plans_;
  const ir::Graph& graph_;
  const Cluster& cluster_;
  const ir::Pins& pins_;
  const SearchOptions& options_;
  const int64_t stages_;  // Parts of the ranks; each has as many stages as the schedule says.
  const ir::PipelineSchedule schedule_;
  const std::optional<MemoryLimit> limit_;
  const std::vector<ir::OpId>& forward_;  // The ops that are cut into stages.
  std::vector<PinnedOp> pinned_;          // Those of which the user says in which.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_STAGING_H_
