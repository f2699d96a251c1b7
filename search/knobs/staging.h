// Pipelines with a given number of stages under one schedule (docs/search.md#stages): plans for the ranks of one stage
// are cut where a step is fastest, and made to fit into memory. Private to search.
//
//   StagePlans plans(task, stages, *MachinesOfStage(cluster, stages));
//   const Staging staging(plans, schedule);
//   // Estimates for several numbers of micro-batches; then the pipeline with one of them.
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

// A plan, its program, and its predicted step.
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

// A step takes at least this share of its estimate.
inline constexpr double kSurely = 0.97;

// The estimated step with a number of micro-batches, without a memory limit; nullopt: not estimated.
struct StagingEstimate {
  int64_t micro_batches = 1;
  std::optional<Seconds> step = {};
};

class Staging {
 public:
  // `plans` outlives it.
  Staging(StagePlans& plans, ir::PipelineSchedule schedule);

  // One estimate for each number of micro-batches that is given, or, under `auto`, that was looked at to find the
  // fastest. Empty after errors, which `refused` gets. `is_only`: there are no other choices, so that a single number
  // needs no estimate. If the work of a rank alone shows that a step is not faster than `below`, the estimate is that
  // work.
  std::vector<StagingEstimate> Estimates(bool is_only, std::optional<Seconds> below, Diagnostics& refused) const;

  // The fastest pipeline found with the micro-batches of `estimate` that fits into memory. No plan and no errors if its
  // step is not less than `below`; errors if there is no pipeline, or none fits.
  PipelineOutcome Fit(const StagingEstimate& estimate, std::optional<Seconds> below) const;

 private:
  // A plan with stages, and its estimated step.
  struct CutPlan {
    ir::Plan plan;
    Seconds end;
  };
  // Cuts, and the estimated step with them.
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
  const int64_t stages_;  // Groups of ranks; each has schedule_.stages_per_rank stages.
  const ir::PipelineSchedule schedule_;
  const std::optional<MemoryLimit> limit_;
  const std::vector<ir::OpId>& forward_;  // The ops that are cut into stages.
  std::vector<PinnedOp> pinned_;          // Those that the user pins to stages.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_STAGING_H_
