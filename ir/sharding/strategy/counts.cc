// Reads the classic integer form of a strategy: from numbers of slices to mesh axes.

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {
namespace {

// The number of pieces into which a factor is to be cut, and where that number stands.
struct Demand {
  int factor = 0;
  int64_t count = 1;
  CountsPlace place;
};

// Whether some set of mesh axes has `count` ranks.
bool IsProductOfAxes(const Mesh& mesh, int64_t count) {
  std::set<int64_t> products = {1};
  for (const MeshAxis& axis : mesh.axes()) {
    const std::vector<int64_t> before(products.begin(), products.end());
    for (int64_t product : before) products.insert(product * axis.size);
  }
  return products.count(count) > 0;
}

// Gives each demand the first axes, in mesh order, whose product matches. Goes back where none are left for a later
// demand. Axes of one size are interchangeable, so after one of them has failed the others are not tried.
class AxisAssignment {
 public:
  AxisAssignment(const Mesh& mesh, const std::vector<Demand>& demands, Strategy& strategy)
      : mesh_(mesh), demands_(demands), strategy_(strategy), used_(static_cast<size_t>(mesh.axis_count()), false) {}

  bool Run() { return Assign(0, demands_.empty() ? 1 : demands_[0].count, 0); }

  // The last demand that could not be met.
  size_t deepest() const { return deepest_; }

 private:
  bool Assign(size_t demand, int64_t remaining, int first_axis) {
    if (demand == demands_.size()) return true;
    deepest_ = std::max(deepest_, demand);
    if (remaining == 1) {
      const size_t next = demand + 1;
      return Assign(next, next < demands_.size() ? demands_[next].count : 1, 0);
    }
    AxisList& cut = strategy_.cuts[static_cast<size_t>(demands_[demand].factor)];
    std::set<int64_t> failed;
    for (int axis = first_axis; axis < mesh_.axis_count(); ++axis) {
      const int64_t size = mesh_.axis(AxisId(axis)).size;
      if (used_[static_cast<size_t>(axis)] || size == 1 || remaining % size != 0 || failed.count(size) > 0) continue;
      used_[static_cast<size_t>(axis)] = true;
      cut.push_back(AxisId(axis));
      if (Assign(demand, remaining / size, axis + 1)) return true;
      cut.pop_back();
      used_[static_cast<size_t>(axis)] = false;
      failed.insert(size);
    }
    return false;
  }

  const Mesh& mesh_;
  const std::vector<Demand>& demands_;
  Strategy& strategy_;
  std::vector<bool> used_;
  size_t deepest_ = 0;
};

// The numbers of one op's pin, factor by factor.
class CountsReader {
 public:
  CountsReader(const Rule& rule, const Mesh& mesh, CountsPlace& place)
      : rule_(rule), mesh_(mesh), place_(place), counts_(rule.factors.size()) {}

  absl::StatusOr<Strategy> Read(const std::vector<std::optional<std::vector<int64_t>>>& counts) {
    if (counts.size() != rule_.inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the strategy is for ", counts.size(), " inputs, the op has ", rule_.inputs.size()));
    }
    for (size_t input = 0; input < counts.size(); ++input) {
      if (!counts[input].has_value()) continue;
      place_ = {.input = static_cast<int>(input), .dimension = -1};
      const std::vector<FactorList>& dimensions = rule_.inputs[input];
      if (counts[input]->size() != dimensions.size()) {
        return absl::InvalidArgumentError(absl::StrCat("input ", input, " has ", dimensions.size(),
                                                       " dimensions, its strategy ", counts[input]->size()));
      }
      for (size_t d = 0; d < dimensions.size(); ++d) {
        place_ = {.input = static_cast<int>(input), .dimension = static_cast<int>(d)};
        CLEAVE_RETURN_IF_ERROR(ReadDimension(dimensions[d], (*counts[input])[d]));
      }
    }
    return AssignAxes();
  }

 private:
  absl::Status ReadDimension(const FactorList& factors, int64_t count) {
    if (count < 1) return absl::InvalidArgumentError(absl::StrCat("a dimension cannot be cut into ", count, " slices"));
    if (!IsProductOfAxes(mesh_, count)) {
      return absl::InvalidArgumentError(
          absl::StrCat(mesh_.rank_count(), " devices cannot be divided into ", count, " slices"));
    }
    if (factors.empty()) {
      if (count == 1) return absl::OkStatus();
      return absl::InvalidArgumentError("a dimension that is broadcast cannot be cut");
    }
    for (size_t i = 0; i < factors.size(); ++i) {
      int64_t part = count;
      if (i + 1 < factors.size()) {
        // The least major factor takes what is left; each other factor takes at most as many pieces as it has elements.
        const int64_t size = rule_.factors[static_cast<size_t>(factors[i])].size;
        if (count % size == 0) {
          part = size;
        } else if (size % count != 0) {
          return absl::InvalidArgumentError(absl::StrCat("a dimension made of `",
                                                         rule_.factors[static_cast<size_t>(factors[i])].name, "` (",
                                                         size, ") and others cannot be cut into ", count, " slices"));
        }
      }
      CLEAVE_RETURN_IF_ERROR(Demanded(factors[i], part));
      count /= part;
    }
    return absl::OkStatus();
  }

  absl::Status Demanded(int index, int64_t count) {
    const Factor& factor = rule_.factors[static_cast<size_t>(index)];
    std::optional<int64_t>& known = counts_[static_cast<size_t>(index)];
    CLEAVE_RETURN_IF_ERROR(CheckPieces(factor, count));
    if (known.has_value() && *known != count) {
      return absl::InvalidArgumentError(absl::StrCat("factor `", factor.name, "` is cut into ", *known,
                                                     " by one input and into ", count, " by another"));
    }
    if (!known.has_value() && count > 1) demands_.push_back({.factor = index, .count = count, .place = place_});
    known = count;
    return absl::OkStatus();
  }

  absl::StatusOr<Strategy> AssignAxes() {
    Strategy strategy = Strategy::Replicated(rule_);
    AxisAssignment assignment(mesh_, demands_, strategy);
    if (!assignment.Run()) {
      const Demand& demand = demands_[assignment.deepest()];
      place_ = demand.place;
      int64_t slices = 1;
      for (const Demand& each : demands_) slices *= each.count;
      return absl::ResourceExhaustedError(absl::StrCat("the slices of all factors together are ", slices, ", and ",
                                                       mesh_.rank_count(), " devices (", mesh_.ToString(),
                                                       ") have no mesh axes left for ", demand.count, " of them"));
    }
    if (!demands_.empty()) place_ = demands_.back().place;
    CLEAVE_RETURN_IF_ERROR(VerifyStrategy(strategy, rule_, mesh_));
    place_ = CountsPlace{};
    return strategy;
  }

  const Rule& rule_;
  const Mesh& mesh_;
  CountsPlace& place_;
  std::vector<std::optional<int64_t>> counts_;  // For each factor what was demanded so far.
  std::vector<Demand> demands_;                 // Those above 1, in the order of their first appearance.
};

}  // namespace

absl::StatusOr<Strategy> StrategyFromCounts(const std::vector<std::optional<std::vector<int64_t>>>& counts,
                                            const Rule& rule, const Mesh& mesh, CountsPlace* place) {
  CountsPlace unused;
  return CountsReader(rule, mesh, place != nullptr ? *place : unused).Read(counts);
}

}  // namespace cleave::ir
