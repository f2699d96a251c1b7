#include "search/knobs/regions/regions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "search/knobs/regions/objective.h"

namespace cleave::search {
namespace {

// The region of each op; -1 for ops outside of all regions.
IdVector<ir::OpId, int> RegionOfEach(const GraphFacts& facts, const std::vector<ir::Region>& regions) {
  IdVector<ir::OpId, int> region_of(facts.graph->ops.size(), -1);
  for (size_t region = 0; region < regions.size(); ++region) {
    for (ir::OpId op : regions[region].ops) region_of[op] = static_cast<int>(region);
  }
  return region_of;
}

class RegionSearch {
 public:
  explicit RegionSearch(const RegionTask& task)
      : task_(task), facts_(task.facts), region_of_(RegionOfEach(task.facts, task.pins.regions)) {}

  std::optional<RegionDecisions> Run(const DecideStep& decide) {
    const int count = static_cast<int>(task_.pins.regions.size());
    for (int region = 0; region < count; ++region) {
      const RegionStep step = {.objective = task_.pins.regions[static_cast<size_t>(region)].objective,
                               .held = AllBut(region),
                               .spread = PinsOf(region)};
      if (!Take(decide(step), region)) return std::nullopt;
    }
    if (task_.outside == ir::Outside::kSearch) {
      const OpDemands regions = WithDecided(task_.demands);
      if (!Take(decide({.objective = task_.objective, .held = regions, .spread = regions}), -1)) return std::nullopt;
    }
    return RegionDecisions{.held = HeldDemands(task_), .changes = Changes()};
  }

  // The demands; ops outside of regions that have none are replicated. What is made from data alone has the layout that
  // `dataset` says.
  OpDemands Outside() const {
    OpDemands held = task_.demands;
    for (ir::OpId op : facts_.set_ops) {
      if (region_of_[op] < 0) HoldReplicated(op, held);
    }
    return held;
  }

 private:
  void HoldReplicated(ir::OpId op, OpDemands& held) const {
    OpDemand& demand = held[op];
    if (!demand.strategy.has_value()) demand.strategy = ir::Strategy::Replicated(facts_.rule(op));
  }

  OpDemands WithDecided(OpDemands held) const {
    for (const auto& [op, strategy] : decided_) held[op].strategy = strategy;
    return held;
  }

  // Fixes everything except the region's own ops: as it was decided, else replicated.
  OpDemands AllBut(int region) const {
    OpDemands held = WithDecided(task_.demands);
    for (ir::OpId op : facts_.set_ops) {
      if (region_of_[op] != region) HoldReplicated(op, held);
    }
    return held;
  }

  // What the user demands of the region's ops, of parameters and of data.
  OpDemands PinsOf(int region) const {
    OpDemands pins;
    for (const auto& [op, demand] : task_.demands) {
      const bool is_source = facts_.classes[op] == ir::OpClass::kSource;
      if (is_source || region_of_[op] == region) pins.emplace(op, demand);
    }
    return pins;
  }

  // Keeps what a step decided about the ops of `region`; returns false where the step failed.
  bool Take(const std::optional<std::vector<Change>>& changes, int region) {
    if (!changes.has_value()) return false;
    for (const Change& change : *changes) {
      if (region_of_[change.op] == region) decided_.insert_or_assign(change.op, change.strategy);
    }
    return true;
  }

  std::vector<Change> Changes() const {
    std::vector<Change> changes;
    for (const auto& [op, strategy] : decided_) changes.push_back({op, strategy});
    return changes;
  }

  const RegionTask& task_;
  const GraphFacts& facts_;
  const IdVector<ir::OpId, int> region_of_;
  std::map<ir::OpId, ir::Strategy> decided_;
};

}  // namespace

std::optional<RegionDecisions> DecideRegions(const RegionTask& task, const DecideStep& decide) {
  return RegionSearch(task).Run(decide);
}

OpDemands HeldDemands(const RegionTask& task) {
  return task.outside == ir::Outside::kReplicate ? RegionSearch(task).Outside() : task.demands;
}

std::map<ir::OpId, std::string> ReasonsOutside(const RegionTask& task) {
  std::map<ir::OpId, std::string> reasons;
  for (const auto& [op, demand] : HeldDemands(task)) {
    if (task.demands.count(op) == 0) reasons.emplace(op, "outside of regions ops are replicated");
  }
  return reasons;
}

void NameRegions(const ir::Pins& pins, IdVector<ir::OpId, ir::OpPlan>& ops) {
  for (const ir::Region& region : pins.regions) {
    for (const ir::Pin& pin : pins.pins) {
      std::string& reason = ops[pin.op].reason;
      if (pin.span == region.span)
        reason = absl::StrReplaceAll(reason, {{"pinned by the user", "as `out` is by default"}});
    }
    const std::string inside =
        absl::StrCat("inside region `", region.name, "` (objective ", ObjectiveName(region.objective), "): ");
    for (ir::OpId op : region.ops) ops[op].reason = absl::StrCat(inside, ops[op].reason);
  }
}

std::string ObjectivesText(const std::vector<ir::Region>& regions) {
  std::vector<absl::string_view> names;
  for (const ir::Region& region : regions) {
    const absl::string_view name = ObjectiveName(region.objective);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace cleave::search
