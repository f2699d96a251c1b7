#include "search/sapp/choices.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "search/sapp/bundles.h"

namespace cleave {

int FactorCutBy(const Strategy& strategy, AxisId axis) {
  for (size_t factor = 0; factor < strategy.cuts.size(); ++factor) {
    const std::vector<AxisId>& axes = strategy.cuts[factor];
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return static_cast<int>(factor);
  }
  return -1;
}

std::optional<Strategy> Moved(const Strategy& strategy, const Rule& rule, const Mesh& mesh, int factor, AxisId axis) {
  return WithFactorCut(Without(strategy, axis), rule, mesh, factor, axis, {});
}

std::vector<int> FactorsFor(const Strategy& strategy, const Rule& rule, const Mesh& mesh, AxisId axis) {
  const Strategy without = Without(strategy, axis);
  std::vector<int> factors;
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    const int64_t pieces = mesh.Size(without.cuts[factor]) * mesh.axis(axis).size;
    if (pieces > rule.factors[factor].size) continue;
    if (Moved(without, rule, mesh, static_cast<int>(factor), axis).has_value())
      factors.push_back(static_cast<int>(factor));
  }
  return factors;
}

bool UsesAllAxes(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  const std::vector<AxisId> axes = mesh.AxisIds();
  return std::all_of(axes.begin(), axes.end(), [&](AxisId axis) {
    return FactorCutBy(strategy, axis) >= 0 || FactorsFor(strategy, rule, mesh, axis).empty();
  });
}

std::string CutsText(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  std::vector<std::string> parts;
  for (size_t factor = 0; factor < strategy.cuts.size(); ++factor) {
    if (strategy.cuts[factor].empty()) continue;
    std::vector<std::string> names;
    for (AxisId axis : strategy.cuts[factor]) names.push_back(mesh.axis(axis).name);
    parts.push_back(absl::StrCat(rule.factors[factor].name, ": ", absl::StrJoin(names, " ")));
  }
  return parts.empty() ? "whole" : absl::StrJoin(parts, ", ");
}

}  // namespace cleave
