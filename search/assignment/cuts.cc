// Moving one mesh axis within a strategy.
#include <algorithm>

#include "search/assignment/strategy_table.h"

namespace cleave {

Strategy Without(const Strategy& strategy, AxisId axis) {
  Strategy result = strategy;
  for (std::vector<AxisId>& axes : result.cuts) axes.erase(std::remove(axes.begin(), axes.end(), axis), axes.end());
  result.passes.erase(std::remove_if(result.passes.begin(), result.passes.end(),
                                     [&](const PassThrough& pass) { return pass.axis == axis; }),
                      result.passes.end());
  return result;
}

std::optional<Strategy> WithFactorCut(const Strategy& strategy, const Rule& rule, const Mesh& mesh, int factor,
                                      AxisId axis, const std::vector<AxisId>& order) {
  if (rule.factors[static_cast<size_t>(factor)].kind == FactorKind::kWhole) return std::nullopt;
  Strategy result = strategy;
  std::vector<AxisId>& axes = result.cuts[static_cast<size_t>(factor)];
  const auto own = std::find(order.begin(), order.end(), axis);
  const auto place = std::find_if(axes.begin(), axes.end(), [&](AxisId other) {
    return own != order.end() && std::find(own, order.end(), other) != order.end();
  });
  axes.insert(place, axis);
  if (!VerifyStrategy(result, rule, mesh).ok()) return std::nullopt;
  return result;
}

std::optional<Strategy> WithDimensionCut(const Strategy& strategy, const Rule& rule, const Mesh& mesh,
                                         const std::vector<FactorList>& dimensions, size_t dimension, AxisId axis,
                                         const std::vector<AxisId>& order) {
  for (int factor : dimensions[dimension]) {
    const int64_t pieces = mesh.Size(strategy.cuts[static_cast<size_t>(factor)]);
    const bool exhausted = pieces >= rule.factors[static_cast<size_t>(factor)].size;
    if (exhausted && factor != dimensions[dimension].back()) continue;
    return WithFactorCut(strategy, rule, mesh, factor, axis, order);
  }
  return std::nullopt;
}

int DimensionCutBy(const Layout& layout, AxisId axis) {
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    const std::vector<AxisId>& axes = layout.dimensions[d];
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return static_cast<int>(d);
  }
  return -1;
}

Strategy StrategyFromDimensions(const Layout& layout, const std::vector<FactorList>& dimensions, const Rule& rule,
                                const Mesh& mesh) {
  Strategy strategy = Strategy::Replicated(rule);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    for (AxisId axis : layout.dimensions[d]) {
      for (int factor : dimensions[d]) {
        const Factor& at = rule.factors[static_cast<size_t>(factor)];
        if (at.kind == FactorKind::kWhole) break;
        const bool exhausted = mesh.Size(strategy.cuts[static_cast<size_t>(factor)]) >= at.size;
        if (exhausted && factor != dimensions[d].back()) continue;
        absl::StatusOr<Strategy> next = WithCut(strategy, rule, mesh, factor, axis);
        if (next.ok()) strategy = *std::move(next);
        break;
      }
    }
  }
  return strategy;
}

}  // namespace cleave
