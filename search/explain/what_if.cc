#include "search/explain/what_if.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check/check.h"
#include "search/price/cost/inner_cost.h"
#include "search/price/cost/time_prices.h"

namespace cleave::search {
namespace {

// The most by which a link is made faster or slower.
constexpr double kFarthest = 64;

// Multiplies the time of a byte on the link.
Links WithLink(const Links& links, const std::string& name, double factor) {
  std::vector<ir::MeshAxis> axes = links.mesh.axes();
  for (ir::MeshAxis& axis : axes) {
    if (axis.link == name) axis.weight *= factor;
  }
  absl::StatusOr<ir::Mesh> mesh = ir::Mesh::Create(std::move(axes));
  CLEAVE_CHECK(mesh.ok()) << std::string(mesh.status().message());
  Links changed{.mesh = *std::move(mesh), .cluster = links.cluster};
  if (!changed.cluster.has_value()) return changed;
  for (Link& link : changed.cluster->links) {
    if (link.name != name) continue;
    link.bytes_per_second /= factor;
    for (GroupRate& group : link.groups) group.bytes_per_second /= factor;
    for (RampPoint& point : link.ramp.points) point.bytes_per_second /= factor;
    if (link.switch_reduction.has_value()) link.switch_reduction->bytes_per_second /= factor;
  }
  return changed;
}

std::vector<std::string> NamesOf(const Links& links) {
  std::vector<std::string> names;
  for (const ir::MeshAxis& axis : links.mesh.axes()) {
    if (std::find(names.begin(), names.end(), axis.link) == names.end()) names.push_back(axis.link);
  }
  return names;
}

// Three digits, rounded to the side on which the statement is true.
std::string Rounded(double value, bool up) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  const double steps = up ? std::ceil(value / unit - 1e-6) : std::floor(value / unit + 1e-6);
  return absl::StrFormat("%.3g", steps * unit);
}

}  // namespace

WhatIf::WhatIf(Assignment& assignment, const std::vector<Change>& changes, std::optional<Cluster> cluster)
    : facts_(assignment.facts()),
      links_{.mesh = assignment.mesh(), .cluster = std::move(cluster)},
      kernels_(assignment.table().paid().kernels),
      gradient_weight_(assignment.options().gradient_weight) {
  const ir::Graph& graph = *facts_.graph;
  const auto strategies_of = [&] {
    IdVector<ir::OpId, int> indexes;
    for (const ir::Op& op : graph.ops) indexes.push_back(assignment.index(op.id));
    return indexes;
  };
  const int mark = assignment.mark();
  const IdVector<ir::OpId, int> before = strategies_of();
  assignment.Apply(changes);
  const IdVector<ir::OpId, int> after = strategies_of();
  std::vector<ir::OpId> values;
  for (const ir::Op& op : graph.ops) {
    const bool differs = before[op.id] != after[op.id] ||
                         std::any_of(facts_.reads[op.id].begin(), facts_.reads[op.id].end(),
                                     [&](const Read& read) { return before[read.reader] != after[read.reader]; });
    if (differs && facts_.priced[op.id]) values.push_back(op.id);
    const std::vector<ir::OpId>& group = facts_.inner_groups[op.id];
    const bool inner_differs =
        std::any_of(group.begin(), group.end(), [&](ir::OpId member) { return before[member] != after[member]; });
    if (inner_differs) groups_.push_back(group);
  }
  const auto local = [&] {
    double price = 0;
    for (const ir::Op& op : graph.ops) {
      if (before[op.id] == after[op.id]) continue;
      price += assignment.table().LocalPrice(op.id, assignment.index(op.id));
    }
    return price;
  };
  const auto fill = [&](Side& side) {
    for (ir::OpId value : values) side.moves.push_back(MovesOf(assignment, value));
    for (const std::vector<ir::OpId>& group : groups_) {
      side.strategies.emplace_back();
      for (ir::OpId member : group) side.strategies.back().push_back(assignment.strategy(member));
    }
  };
  fill(second_);
  local_ = local();
  assignment.Rollback(mark);
  fill(first_);
  local_ -= local();
}

WhatIf::Moves WhatIf::MovesOf(const Assignment& assignment, ir::OpId value) const {
  Moves moves{.value = value, .produced = assignment.produced(value), .demands = {}};
  const bool own = facts_.gradient[value] != 0;
  if (const std::optional<ir::Layout> output = assignment.demanded_output(value)) {
    moves.demands.push_back({.layout = *output, .weight = 1, .is_gradient = own});
  }
  for (const Read& read : facts_.reads[value]) {
    // With a gradient weight of one, the weight only says whether the read is priced at all.
    moves.demands.push_back({.layout = assignment.wanted(read.reader, read.input),
                             .weight = ReadWeight(facts_, value, read.reader, /*gradient_weight=*/1),
                             .is_gradient = own || facts_.op(read.reader).phase == ir::Phase::kUpdate});
  }
  return moves;
}

double WhatIf::CostOf(const Side& side, const Links& links, double gradient_weight) const {
  Prices paid;
  paid.kernels = kernels_;
  if (links.cluster.has_value()) {
    paid.redistribution = SecondsOfRedistributions(*links.cluster, links.mesh);
    paid.collective = SecondsOfCollectives(*links.cluster, links.mesh);
  }
  RedistributionPrices prices(links.mesh, facts_.graph->sums, {}, paid);
  double cost = 0;
  for (const Moves& moves : side.moves) {
    std::vector<LayoutDemand> demands;
    for (const Demanded& demand : moves.demands) {
      demands.push_back({.layout = prices.Intern(demand.layout),
                         .weight = demand.weight * (demand.is_gradient ? gradient_weight : 1)});
    }
    const TypeIndex type = prices.TypeOf(facts_, moves.value);
    cost += prices.Serve(type, prices.Intern(moves.produced), demands).price;
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    const auto strategy_of = [&](ir::OpId op) -> const ir::Strategy& {
      const auto member = std::find(groups_[g].begin(), groups_[g].end(), op);
      CLEAVE_CHECK(member != groups_[g].end()) << "an op of another group";
      return side.strategies[g][static_cast<size_t>(member - groups_[g].begin())];
    };
    cost += InnerCost(facts_, groups_[g], strategy_of, prices).price;
  }
  return cost;
}

double WhatIf::Difference(const Links& links, double gradient_weight) const {
  return local_ + CostOf(second_, links, gradient_weight) - CostOf(first_, links, gradient_weight);
}

std::vector<std::string> WhatIf::GradientConditions() const {
  const double without = Difference(links_, 0);
  const double slope = Difference(links_, 1) - without;
  if (slope == 0 || without == 0 || -without / slope <= 0) return {};
  const double even = -without / slope;
  const bool above = slope < 0;
  const std::string number = Rounded(even, above);
  double at = 0;
  CLEAVE_CHECK(absl::SimpleAtod(number, &at)) << number;
  if (Difference(links_, at * (above ? 1.001 : 0.999)) >= 0) return {};
  return {absl::StrCat("with a gradient_weight ", above ? "above " : "below ", number, " (now ",
                       absl::StrFormat("%g", gradient_weight_), ")")};
}

std::vector<std::string> WhatIf::LinkConditions() const {
  std::vector<std::string> conditions;
  const std::vector<std::string> names = NamesOf(links_);
  // With one link, all bytes would cost more in the same way.
  if (names.size() < 2 && !links_.cluster.has_value()) return conditions;
  for (const std::string& link : names) {
    for (const bool slower : {false, true}) {
      const auto difference = [&](double times) {
        return Difference(WithLink(links_, link, slower ? times : 1 / times), gradient_weight_);
      };
      double low = 1, high = 2;
      while (high <= kFarthest && difference(high) >= 0) {
        low = high;
        high *= 2;
      }
      if (high > kFarthest) continue;
      while (high / low > 1.005) {
        const double middle = std::sqrt(low * high);
        (difference(middle) >= 0 ? low : high) = middle;
      }
      const std::string number = Rounded(high, /*up=*/true);
      double at = 0;
      CLEAVE_CHECK(absl::SimpleAtod(number, &at)) << number;
      if (difference(at) >= 0) continue;
      conditions.push_back(absl::StrCat("with the link `", link, "` ", number, " times as ", slower ? "slow" : "fast"));
    }
  }
  return conditions;
}

std::vector<std::string> WhatIf::Conditions() const {
  if (Now() <= 0) return {};
  std::vector<std::string> conditions = GradientConditions();
  for (std::string& condition : LinkConditions()) conditions.push_back(std::move(condition));
  return conditions;
}

}  // namespace cleave::search
