// All strategies of one op.
#include <algorithm>

#include "search/model/facts/cuts.h"
#include "search/oracle/oracle.h"

namespace cleave::search {
namespace {

bool HasElementsForPieces(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh) {
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    if (mesh.Size(strategy.cuts[factor]) > MostPieces(rule, static_cast<int>(factor))) return false;
  }
  return true;
}

bool IsValid(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh) {
  return HasElementsForPieces(strategy, rule, mesh) && ir::VerifyStrategy(strategy, rule, mesh).ok();
}

// Whether `axis` could cut a factor in addition to the other axes.
bool HasRoomFor(ir::AxisId axis, const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh) {
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    ir::Strategy with = strategy;
    with.cuts[factor].push_back(axis);
    if (IsValid(with, rule, mesh)) return true;
  }
  return false;
}

class Enumeration {
 public:
  Enumeration(const ir::Rule& rule, const ir::Mesh& mesh, bool is_product)
      : rule_(rule), mesh_(mesh), is_product_(is_product), current_(ir::Strategy::Replicated(rule)) {}

  std::vector<ir::Strategy> All() && {
    Place(0);
    return std::move(found_);
  }

 private:
  // Every arrangement of axes arises once: each axis enters at every place among those before it.
  void Place(int axis) {
    if (axis == mesh_.axis_count()) return Keep();
    Place(axis + 1);
    for (size_t factor = 0; factor < rule_.factors.size(); ++factor) {
      if (rule_.factors[factor].kind == ir::FactorKind::kWhole) continue;
      ir::AxisList& axes = current_.cuts[factor];
      for (size_t place = 0; place <= axes.size(); ++place) {
        axes.insert(axes.begin() + static_cast<int64_t>(place), ir::AxisId(axis));
        if (mesh_.Size(axes) <= MostPieces(rule_, static_cast<int>(factor))) Place(axis + 1);
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
    ir::AxisList idle = mesh_.AxisIds();
    for (const ir::AxisList& axes : current_.cuts) {
      for (ir::AxisId axis : axes) idle.erase(std::find(idle.begin(), idle.end(), axis));
    }
    return std::any_of(idle.begin(), idle.end(),
                       [&](ir::AxisId axis) { return HasRoomFor(axis, current_, rule_, mesh_); });
  }

  const ir::Rule& rule_;
  const ir::Mesh& mesh_;
  bool is_product_;
  ir::Strategy current_;
  std::vector<ir::Strategy> found_;
};

}  // namespace

std::vector<ir::Strategy> AllStrategies(const ir::Rule& rule, const ir::Mesh& mesh, bool is_product) {
  return Enumeration(rule, mesh, is_product).All();
}

}  // namespace cleave::search
