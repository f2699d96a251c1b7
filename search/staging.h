// A pipeline of a number of stages under one schedule: a plan for the ranks of one stage, cut where a step is fastest.
// Private to search.
//
//   StagePlans plans(task, stages, *MachinesOfStage(cluster, stages));
//   std::optional<StagedPlan> found = FindStaging(plans, schedule, /*below=*/std::nullopt, diagnostics);
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
struct StagedPlan {
  Found found;
  Seconds step{0};
};

// The pipeline with the number of micro-batches that is asked for, or the fastest of several, if a step takes less than
// `below`. nullopt where there is none, after errors where none fits into memory.
std::optional<StagedPlan> FindStaging(StagePlans& plans, ir::PipelineSchedule schedule, std::optional<Seconds> below,
                                      Diagnostics& diagnostics);

// E0317: what cannot be a pipeline, and why.
Diagnostic NoPipeline(const std::string& what, Span place, const std::string& why);
std::string StagesText(int64_t stages);  // "4 stages"

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_STAGING_H_
