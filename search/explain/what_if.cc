#include "search/explain/what_if.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check/check.h"
#include "search/cost/inner_cost.h"

namespace cleave::search {
namespace {

// The most by which a link is made faster or slower.
constexpr double kFarthest = 64;

ir::Mesh WithLink(const ir::Mesh& mesh, const std::string& link, double factor) {
  std::vector<ir::MeshAxis> axes = mesh.axes();
  for (ir::MeshAxis& axis : axes) {
    if (axis.link == link) axis.weight *= factor;
  }
  absl::StatusOr<ir::Mesh> changed = ir::Mesh::Create(std::move(axes));
  CLEAVE_CHECK(changed.ok()) << std::string(changed.status().message());
  return *std::move(changed);
}

std::vector<std::string> LinksOf(const ir::Mesh& mesh) {
  std::vector<std::string> links;
  for (const ir::MeshAxis& axis : mesh.axes()) {
    if (std::find(links.begin(), links.end(), axis.link) == links.end()) links.push_back(axis.link);
  }
  return links;
}

// Three digits, rounded to the side on which the statement is true.
std::string Rounded(double value, bool up) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  const double steps = up ? std::ceil(value / unit - 1e-6) : std::floor(value / unit + 1e-6);
  return absl::StrFormat("%.3g", steps * unit);
}

}  // namespace

WhatIf::WhatIf(Assignment& assignment, const std::vector<Change>& changes)
    : facts_(assignment.facts()), mesh_(assignment.mesh()), gradient_weight_(assignment.options().gradient_weight) {
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
  const auto fill = [&](Side& side) {
    for (ir::OpId value : values) side.moves.push_back(MovesOf(assignment, value));
    for (const std::vector<ir::OpId>& group : groups_) {
      side.strategies.emplace_back();
      for (ir::OpId member : group) side.strategies.back().push_back(assignment.strategy(member));
    }
  };
  fill(second_);
  assignment.Rollback(mark);
  fill(first_);
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

double WhatIf::CostOf(const Side& side, const ir::Mesh& mesh, double gradient_weight) const {
  RedistributionPrices prices(mesh);
  double cost = 0;
  for (const Moves& moves : side.moves) {
    std::vector<RedistributionPrices::Demanded> demands;
    for (const Demanded& demand : moves.demands) {
      demands.push_back({.layout = prices.Intern(demand.layout),
                         .weight = demand.weight * (demand.is_gradient ? gradient_weight : 1)});
    }
    cost += prices.Serve(prices.Intern(facts_.op(moves.value).type), prices.Intern(moves.produced), demands).price;
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

double WhatIf::Difference(const ir::Mesh& mesh, double gradient_weight) const {
  return CostOf(second_, mesh, gradient_weight) - CostOf(first_, mesh, gradient_weight);
}

std::vector<std::string> WhatIf::GradientConditions() const {
  const double without = Difference(mesh_, 0);
  const double slope = Difference(mesh_, 1) - without;
  if (slope == 0 || without == 0 || -without / slope <= 0) return {};
  const double even = -without / slope;
  const bool above = slope < 0;
  const std::string number = Rounded(even, above);
  double at = 0;
  CLEAVE_CHECK(absl::SimpleAtod(number, &at)) << number;
  if (Difference(mesh_, at * (above ? 1.001 : 0.999)) >= 0) return {};
  return {absl::StrCat("with a gradient_weight ", above ? "above " : "below ", number, " (now ",
                       absl::StrFormat("%g", gradient_weight_), ")")};
}

std::vector<std::string> WhatIf::LinkConditions() const {
  std::vector<std::string> conditions;
  const std::vector<std::string> links = LinksOf(mesh_);
  if (links.size() < 2) return conditions;  // With one link, all prices would grow in the same way.
  for (const std::string& link : links) {
    for (const bool slower : {false, true}) {
      const auto difference = [&](double times) {
        return Difference(WithLink(mesh_, link, slower ? times : 1 / times), gradient_weight_);
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
  if (Difference(mesh_, gradient_weight_) <= 0) return {};
  std::vector<std::string> conditions = GradientConditions();
  for (std::string& condition : LinkConditions()) conditions.push_back(std::move(condition));
  return conditions;
}

}  // namespace cleave::search
