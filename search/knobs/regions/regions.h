// Plans a model with regions: each region in turn, under its own objective, while all other ops are fixed; then, under
// `parallel { outside = search }`, the ops outside of all regions.
//
//   std::optional<RegionDecisions> decided = DecideRegions({.facts = facts, .demands = demands, .pins = pins}, decide);
//   Assignment assignment(facts, mesh, options, decided->held);
//   assignment.Apply(decided->changes);
#ifndef CLEAVE_SEARCH_KNOBS_REGIONS_REGIONS_H_
#define CLEAVE_SEARCH_KNOBS_REGIONS_REGIONS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/facts/facts.h"
#include "search/solve/assignment/assignment.h"

namespace cleave::search {

// The search of one region: it decides the ops that `held` does not fix.
struct RegionStep {
  ir::Objective objective = ir::Objective::kSpeed;
  OpDemands held;
  OpDemands spread;  // Where propagation starts: the pins of the region, or all that is decided.
};

// Makes one such search. Returns the strategies of all ops that a search sets; nullopt after errors.
using DecideStep = std::function<std::optional<std::vector<Change>>(const RegionStep& step)>;

struct RegionTask {
  const GraphFacts& facts;
  const OpDemands& demands;  // Of `pins`.
  const ir::Pins& pins;      // With regions.
  ir::Outside outside = ir::Outside::kReplicate;
  ir::Objective objective = ir::Objective::kSpeed;  // Outside of regions.
};

struct RegionDecisions {
  OpDemands held;  // HeldDemands.
  std::vector<Change> changes;
};

std::optional<RegionDecisions> DecideRegions(const RegionTask& task, const DecideStep& decide);

// The demands that hold in every search: those of the user, and that ops outside of all regions are replicated unless a
// search decides them.
OpDemands HeldDemands(const RegionTask& task);

// The reason of each op that is replicated because it is outside of all regions and has no pin of its own.
std::map<ir::OpId, std::string> ReasonsOutside(const RegionTask& task);

// Puts "inside region `y` (objective memory): " before the reasons of a region's ops.
void NameRegions(const ir::Pins& pins, IdVector<ir::OpId, ir::OpPlan>& ops);

// The objectives of the regions, in their order, each once: "memory, speed".
std::string ObjectivesText(const std::vector<ir::Region>& regions);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_REGIONS_REGIONS_H_
