// A pipeline of a number of stages under one schedule: a plan for the ranks of one stage, cut where a step is fastest.
// Private to search.
//
//   StagePlans plans(task, stages, *MachinesOfStage(cluster, stages));
//   const PipelineOutcome found = FindStaging(plans, schedule, /*below=*/std::nullopt);
#ifndef CLEAVE_SEARCH_STAGING_H_
#define CLEAVE_SEARCH_STAGING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/sharding/stages/stages.h"
#include "search/search.h"
#include "search/stage_plans.h"

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

// The pipeline with the number of micro-batches that is asked for, or the fastest of several, if a step takes less than
// `below`. No plan where there is none, with errors where none fits into memory.
PipelineOutcome FindStaging(StagePlans& plans, ir::PipelineSchedule schedule, std::optional<Seconds> below);

// E0317: what cannot be a pipeline, and why.
Diagnostic NoPipeline(const std::string& what, Span place, const std::string& why);
std::string StagesText(int64_t stages);  // "4 stages"

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_STAGING_H_
