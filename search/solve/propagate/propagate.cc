// Reading guide: Spreading::Run does a round for each priority. FreedomUnder gives each op the axes that reach it
// (reach.h), SappWithin decides, and in LastRound FindBest. Propagate then reports what contradicts or is not reached
// (report.h), and where cuts come from (trails.h).
#include "search/solve/propagate/propagate.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "search/solve/exact/exact.h"
#include "search/solve/propagate/axis_group.h"
#include "search/solve/propagate/reach.h"
#include "search/solve/propagate/report.h"
#include "search/solve/propagate/trails.h"
#include "search/solve/sapp/choices.h"
#include "search/solve/sapp/freedom.h"
#include "search/solve/sapp/sapp.h"

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

// A pinned op and the round in which its cut spreads: lower numbers first.
struct Seed {
  int64_t priority = std::numeric_limits<int64_t>::max();
  ir::OpId op;

  auto operator<=>(const Seed&) const = default;
};

std::vector<Seed> SeedsOf(const OpDemands& demands, const ir::Pins& pins) {
  std::vector<Seed> seeds;
  for (const auto& [op, demand] : demands) {
    Seed seed{.op = op};
    for (const ir::Priority& priority : pins.priorities) {
      if (priority.op == op) seed.priority = std::min(seed.priority, priority.value);
    }
    seeds.push_back(seed);
  }
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

class Spreading {
 public:
  Spreading(Assignment& assignment, const OpDemands& demands, const ir::Pins& pins)
      : assignment_(assignment),
        facts_(assignment.facts()),
        demands_(demands),
        groups_(GroupsOf(demands, assignment.mesh())),
        seeds_(SeedsOf(demands, pins)) {}

  // Sets all open ops.
  void Run() {
    std::set<int64_t> priorities;
    for (const Seed& seed : seeds_) priorities.insert(seed.priority);
    for (int64_t priority : priorities) {
      if (priority == *priorities.rbegin()) {
        LastRound(/*is_only=*/priorities.size() == 1);
      } else {
        Round(priority);
      }
    }
  }

  const std::optional<double>& lower_bound() const { return lower_bound_; }

  Spread Result() const {
    Spread spread{.groups = groups_, .trails = {}, .reaches = ReachesOf(demands_)};
    std::vector<ir::OpId> pins;
    for (const Seed& seed : seeds_) pins.push_back(seed.op);
    for (const AxisGroup& group : groups_) spread.trails.emplace_back(assignment_, group, pins);
    return spread;
  }

 private:
  // Decides the ops that the pins up to `priority` reach, as if there were no others.
  void Round(int64_t priority) {
    OpDemands own, known = assignment_.demands();
    for (const Seed& seed : seeds_) {
      if (seed.priority <= priority) {
        own.insert(*demands_.find(seed.op));
      } else {
        known.erase(seed.op);
      }
    }
    Assignment seen(facts_, assignment_.mesh(), assignment_.options(), known);
    std::vector<Change> present;
    for (ir::OpId op : assignment_.OpenOps()) present.push_back({op, assignment_.strategy(op)});
    seen.Apply(present);
    const std::vector<Reach> reaches = ReachesOf(own);
    SappWithin(seen, FreedomUnder(seen, own, reaches, /*is_last=*/false));
    std::vector<Change> decided;
    for (ir::OpId op : assignment_.OpenOps()) {
      const bool is_reached =
          std::any_of(reaches.begin(), reaches.end(), [&](const Reach& reach) { return reach.reaches(op); });
      if (is_reached) decided.push_back({op, seen.strategy(op)});
    }
    assignment_.Apply(decided);
  }

  void LastRound(bool is_only) {
    const Freedom freedom = FreedomUnder(assignment_, demands_, ReachesOf(demands_), /*is_last=*/true);
    SappWithin(assignment_, freedom);
    const ExactResult best = FindBest(assignment_, freedom);
    if (is_only) lower_bound_ = best.lower_bound;
  }

  // A pin of a later round does not pass cuts on either: the cut would end at it in that round.
  std::vector<Reach> ReachesOf(const OpDemands& pins) const {
    std::vector<Reach> reaches;
    for (const AxisGroup& group : groups_) reaches.emplace_back(assignment_, pins, group);
    return reaches;
  }

  // Open to an op are the axes that reach it and do not cut it yet; a product must use them, on the factors by which
  // they reach it. Before the last round all axes are open to an op that none reaches, because it is decided later.
  Freedom FreedomUnder(Assignment& assignment, const OpDemands& pins, const std::vector<Reach>& reaches,
                       bool is_last) const {
    Freedom freedom = Freedom::Whole(assignment.table());
    for (ir::OpId op : facts_.set_ops) {
      std::set<ir::AxisId> open;
      std::map<ir::AxisId, std::vector<int>> required;  // With the factors that they may cut.
      const bool is_any =
          std::any_of(reaches.begin(), reaches.end(), [&](const Reach& reach) { return reach.reaches(op); });
      for (size_t group = 0; group < groups_.size(); ++group) {
        const bool is_reached = reaches[group].reaches(op);
        for (ir::AxisId axis : groups_[group]) {
          if (UsesOf(pins, axis).empty() || (!is_reached && (is_last || is_any))) continue;
          if (FactorCutBy(assignment.strategy(op), axis) >= 0) continue;
          open.insert(axis);
          if (is_reached && facts_.roles[op] == Role::kProduct) required[axis] = reaches[group].factors(op);
        }
      }
      OpFreedom own{.open = {open.begin(), open.end()}, .required = {}};
      for (auto& [axis, factors] : required) {
        own.required.push_back(axis);
        own.factors.push_back(std::move(factors));
      }
      freedom.Set(op, std::move(own));
    }
    return freedom;
  }

  Assignment& assignment_;
  const GraphFacts& facts_;
  const OpDemands& demands_;
  const std::vector<AxisGroup> groups_;
  const std::vector<Seed> seeds_;
  std::optional<double> lower_bound_;
};

std::string AxesText(const ir::Mesh& mesh, const AxisGroup& group) {
  return absl::StrJoin(group, " ",
                       [&](std::string* out, ir::AxisId axis) { absl::StrAppend(out, mesh.axis(axis).name); });
}

// "follows `qkv` (line 7) on m1, by way of `bias_add`, and `x` (line 3) on m0"
std::string ReasonOf(const Assignment& assignment, const Spread& spread, ir::OpId op) {
  const GraphFacts& facts = assignment.facts();
  std::vector<std::string> parts, others;
  for (size_t group = 0; group < spread.groups.size(); ++group) {
    const std::string axes = AxesText(assignment.mesh(), spread.groups[group]);
    const std::optional<Followed>& followed = spread.trails[group].followed(op);
    if (!followed.has_value()) {
      if (CutsBy(assignment, op, spread.groups[group])) others.push_back(axes);
      continue;
    }
    std::string part = absl::StrCat(PlaceText(facts, followed->pin), " on ", axes);
    const bool direct = followed->neighbour == followed->pin || followed->neighbour == op;
    if (!direct) absl::StrAppend(&part, ", by way of `", facts.op(followed->neighbour).name, "`");
    parts.push_back(std::move(part));
  }
  std::string reason = parts.empty() ? "" : absl::StrCat("follows ", absl::StrJoin(parts, ", and "));
  if (others.empty()) return reason;
  const std::string cheapest = absl::StrCat("no pin leads here on ", absl::StrJoin(others, " "), ", which costs least");
  return reason.empty() ? cheapest : absl::StrCat(reason, "; ", cheapest);
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
  Spreading spreading(assignment, demands, pins);
  spreading.Run();
  const Spread spread = spreading.Result();
  WarnOfConflicts(assignment, spread, demands, pins, diagnostics);
  WarnOfUnreached(assignment, spread, pins, diagnostics);
  Propagation propagation{.reasons = {}, .lower_bound = spreading.lower_bound()};
  for (const ir::Op& op : facts.graph->ops) {
    if (!facts.is_set(op.id) || demands.count(op.id) > 0) continue;
    std::string reason = ReasonOf(assignment, spread, op.id);
    if (!reason.empty()) propagation.reasons.emplace(op.id, std::move(reason));
  }
  return propagation;
}

}  // namespace cleave::search
