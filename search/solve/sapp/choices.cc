#include "search/solve/sapp/choices.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "search/model/facts/cuts.h"
#include "search/solve/sapp/bundles.h"

namespace cleave::search {

int FactorCutBy(const ir::Strategy& strategy, ir::AxisId axis) {
  for (size_t factor = 0; factor < strategy.cuts.size(); ++factor) {
    const ir::AxisList& axes = strategy.cuts[factor];
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return static_cast<int>(factor);
  }
  return -1;
}

std::optional<ir::Strategy> Moved(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh, int factor,
                                  ir::AxisId axis) {
  return WithFactorCut(Without(strategy, axis), rule, mesh, factor, axis, {});
}

std::vector<int> FactorsFor(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh, ir::AxisId axis) {
  const ir::Strategy without = Without(strategy, axis);
  std::vector<int> factors;
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    const int64_t pieces = mesh.Size(without.cuts[factor]) * mesh.axis(axis).size;
    if (pieces > MostPieces(rule, static_cast<int>(factor))) continue;
    if (Moved(without, rule, mesh, static_cast<int>(factor), axis).has_value())
      factors.push_back(static_cast<int>(factor));
  }
  return factors;
}

bool UsesAxes(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh, const ir::AxisList& axes) {
  return std::all_of(axes.begin(), axes.end(), [&](ir::AxisId axis) {
    return FactorCutBy(strategy, axis) >= 0 || FactorsFor(strategy, rule, mesh, axis).empty();
  });
}

std::string CutsText(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh) {
  std::vector<std::string> parts;
  for (size_t factor = 0; factor < strategy.cuts.size(); ++factor) {
    if (strategy.cuts[factor].empty()) continue;
    std::vector<std::string> names;
    for (ir::AxisId axis : strategy.cuts[factor]) names.push_back(mesh.axis(axis).name);
    parts.push_back(absl::StrCat(rule.factors[factor].name, ": ", absl::StrJoin(names, " ")));
  }
  return parts.empty() ? "whole" : absl::StrJoin(parts, ", ");
}

}  // namespace cleave::search
