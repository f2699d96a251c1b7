#include "search/propagate/propagate.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "search/propagate/report.h"
#include "search/propagate/waves.h"
#include "search/sapp/choices.h"

namespace cleave::search {
namespace {

// What a pin cuts by an axis: a factor of the op and a dimension of its value; -1 for none.
using Use = std::tuple<ir::OpId, int, int>;

std::vector<Use> UsesOf(const OpDemands& demands, ir::AxisId axis) {
  std::vector<Use> uses;
  for (const auto& [op, demand] : demands) {
    const int factor = demand.strategy.has_value() ? FactorCutBy(*demand.strategy, axis) : -1;
    const int dimension = demand.output.has_value() ? DimensionCutBy(*demand.output, axis) : -1;
    if (factor >= 0 || dimension >= 0) uses.emplace_back(op, factor, dimension);
  }
  return uses;
}

// The axes that some pin uses; those that all pins use in the same way are in one group.
std::vector<AxisGroup> GroupsOf(const OpDemands& demands, const ir::Mesh& mesh) {
  std::vector<AxisGroup> groups;
  std::map<std::vector<Use>, size_t> index;
  for (ir::AxisId axis : mesh.AxisIds()) {
    const std::vector<Use> uses = UsesOf(demands, axis);
    if (uses.empty()) continue;
    const auto [found, is_new] = index.emplace(uses, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(axis);
  }
  return groups;
}

std::vector<Seed> SeedsOf(const OpDemands& demands, const ir::Pins& pins) {
  std::vector<Seed> seeds;
  for (const auto& [op, demand] : demands) {
    Seed seed{.op = op, .priority = std::numeric_limits<int64_t>::max()};
    for (const ir::Priority& priority : pins.priorities) {
      if (priority.op == op) seed.priority = std::min(seed.priority, priority.value);
    }
    seeds.push_back(seed);
  }
  return seeds;
}

std::string AxesText(const ir::Mesh& mesh, const AxisGroup& group) {
  return absl::StrJoin(group, " ",
                       [&](std::string* out, ir::AxisId axis) { absl::StrAppend(out, mesh.axis(axis).name); });
}

// "follows `qkv` (line 7) on m1, by way of `bias_add`, and `x` (line 3) on m0"
std::string ReasonOf(const GraphFacts& facts, const ir::Mesh& mesh, const Waves& waves, ir::OpId op) {
  std::vector<std::string> parts;
  for (size_t group = 0; group < waves.groups().size(); ++group) {
    const std::optional<Followed> followed = waves.followed(op, group);
    if (!followed.has_value()) continue;
    std::string part = absl::StrCat(PlaceText(facts, followed->pin), " on ", AxesText(mesh, waves.groups()[group]));
    const bool direct = followed->neighbour == followed->pin || followed->neighbour == op;
    if (!direct) absl::StrAppend(&part, ", by way of `", facts.op(followed->neighbour).name, "`");
    parts.push_back(std::move(part));
  }
  return parts.empty() ? "" : absl::StrCat("follows ", absl::StrJoin(parts, ", and "));
}

}  // namespace

std::optional<Propagation> Propagate(Assignment& assignment, const OpDemands& demands, const ir::Pins& pins,
                                     Diagnostics& diagnostics) {
  const GraphFacts& facts = assignment.facts();
  if (demands.empty()) {
    if (assignment.mesh().axis_count() == 0) return Propagation{};
    ReportNoPins(assignment, pins, diagnostics);
    return std::nullopt;
  }
  Waves waves(assignment, GroupsOf(demands, assignment.mesh()), SeedsOf(demands, pins));
  waves.Run();
  WarnOfConflicts(assignment, waves, demands, pins, diagnostics);
  WarnOfUnreached(assignment, waves, diagnostics);
  Propagation propagation;
  for (const ir::Op& op : facts.graph->ops) {
    if (demands.count(op.id) > 0) continue;
    std::string reason = ReasonOf(facts, assignment.mesh(), waves, op.id);
    if (!reason.empty()) propagation.reasons.emplace(op.id, std::move(reason));
  }
  return propagation;
}

}  // namespace cleave::search
