// All strategies of one op.
#include <algorithm>

#include "search/oracle/oracle.h"

namespace cleave {
namespace {

bool HasAnElementForEachPiece(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    if (mesh.Size(strategy.cuts[factor]) > rule.factors[factor].size) return false;
  }
  return true;
}

bool IsValid(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  return HasAnElementForEachPiece(strategy, rule, mesh) && VerifyStrategy(strategy, rule, mesh).ok();
}

// Whether `axis` could cut something beside the others.
bool HasRoomFor(AxisId axis, const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    Strategy with = strategy;
    with.cuts[factor].push_back(axis);
    if (IsValid(with, rule, mesh)) return true;
  }
  return false;
}

class Enumeration {
 public:
  Enumeration(const Rule& rule, const Mesh& mesh, bool is_product)
      : rule_(rule), mesh_(mesh), is_product_(is_product), current_(Strategy::Replicated(rule)) {}

  std::vector<Strategy> All() && {
    Place(0);
    return std::move(found_);
  }

 private:
  // Every arrangement of axes arises once: each axis enters at every place among those before it.
  void Place(int axis) {
    if (axis == mesh_.axis_count()) return Keep();
    Place(axis + 1);
    for (size_t factor = 0; factor < rule_.factors.size(); ++factor) {
      if (rule_.factors[factor].kind == FactorKind::kWhole) continue;
      std::vector<AxisId>& axes = current_.cuts[factor];
      for (size_t place = 0; place <= axes.size(); ++place) {
        axes.insert(axes.begin() + static_cast<int64_t>(place), AxisId(axis));
        if (mesh_.Size(axes) <= rule_.factors[factor].size) Place(axis + 1);
        axes.erase(axes.begin() + static_cast<int64_t>(place));
      }
    }
  }
  void Keep() {
    if (!IsValid(current_, rule_, mesh_)) return;
    if (is_product_ && LeavesRoom()) return;
    found_.push_back(current_);
  }
  bool LeavesRoom() const {
    std::vector<AxisId> idle = mesh_.AxisIds();
    for (const std::vector<AxisId>& axes : current_.cuts) {
      for (AxisId axis : axes) idle.erase(std::find(idle.begin(), idle.end(), axis));
    }
    return std::any_of(idle.begin(), idle.end(), [&](AxisId axis) { return HasRoomFor(axis, current_, rule_, mesh_); });
  }

  const Rule& rule_;
  const Mesh& mesh_;
  bool is_product_;
  Strategy current_;
  std::vector<Strategy> found_;
};

}  // namespace

std::vector<Strategy> AllStrategies(const Rule& rule, const Mesh& mesh, bool is_product) {
  return Enumeration(rule, mesh, is_product).All();
}

}  // namespace cleave
