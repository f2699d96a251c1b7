// Moving one mesh axis within a strategy.
#include "search/model/facts/cuts.h"

#include <algorithm>

namespace cleave::search {

ir::Layout CutByBatch(const ir::Shape& shape, const ir::Mesh& mesh) {
  ir::Layout layout = ir::Layout::Replicated(static_cast<int>(shape.size()));
  if (shape.empty()) return layout;
  int64_t pieces = 1;
  for (ir::AxisId axis : mesh.AxisIds()) {
    if (pieces * mesh.axis(axis).size > shape[0]) continue;
    pieces *= mesh.axis(axis).size;
    layout.dimensions[0].push_back(axis);
  }
  return layout;
}

int64_t MostPieces(const ir::Rule& rule, int factor) {
  int64_t pieces = rule.factors[static_cast<size_t>(factor)].size;
  for (const ir::InputWindow& entry : rule.windows) {
    if (entry.cause != ir::WindowCause::kShift) continue;
    const std::vector<ir::FactorList>& dimensions = rule.inputs[static_cast<size_t>(entry.input)];
    if (dimensions[static_cast<size_t>(entry.dimension)].front() != factor) continue;
    pieces = std::max(pieces, entry.window.elements);
  }
  return pieces;
}

ir::Strategy Without(const ir::Strategy& strategy, ir::AxisId axis) {
  ir::Strategy result = strategy;
  for (ir::AxisList& axes : result.cuts) axes.erase(std::remove(axes.begin(), axes.end(), axis), axes.end());
  result.passes.erase(std::remove_if(result.passes.begin(), result.passes.end(),
                                     [&](const ir::PassThrough& pass) { return pass.axis == axis; }),
                      result.passes.end());
  return result;
}

std::optional<ir::Strategy> WithFactorCut(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh,
                                          int factor, ir::AxisId axis, const ir::AxisList& order) {
  if (rule.factors[static_cast<size_t>(factor)].kind == ir::FactorKind::kWhole) return std::nullopt;
  ir::Strategy result = strategy;
  ir::AxisList& axes = result.cuts[static_cast<size_t>(factor)];
  const auto own = std::find(order.begin(), order.end(), axis);
  const auto place = std::find_if(axes.begin(), axes.end(), [&](ir::AxisId other) {
    return own != order.end() && std::find(own, order.end(), other) != order.end();
  });
  axes.insert(place, axis);
  if (!ir::VerifyStrategy(result, rule, mesh).ok()) return std::nullopt;
  return result;
}

std::optional<ir::Strategy> WithDimensionCut(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh,
                                             const std::vector<ir::FactorList>& dimensions, size_t dimension,
                                             ir::AxisId axis, const ir::AxisList& order) {
  for (int factor : dimensions[dimension]) {
    const int64_t pieces = mesh.Size(strategy.cuts[static_cast<size_t>(factor)]);
    const bool exhausted = pieces >= rule.factors[static_cast<size_t>(factor)].size;
    if (exhausted && factor != dimensions[dimension].back()) continue;
    return WithFactorCut(strategy, rule, mesh, factor, axis, order);
  }
  return std::nullopt;
}

int DimensionCutBy(const ir::Layout& layout, ir::AxisId axis) {
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    const ir::AxisList& axes = layout.dimensions[d];
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return static_cast<int>(d);
  }
  return -1;
}

ir::Strategy StrategyFromDimensions(const ir::Layout& layout, const std::vector<ir::FactorList>& dimensions,
                                    const ir::Rule& rule, const ir::Mesh& mesh) {
  ir::Strategy strategy = ir::Strategy::Replicated(rule);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    for (ir::AxisId axis : layout.dimensions[d]) {
      for (int factor : dimensions[d]) {
        const ir::Factor& at = rule.factors[static_cast<size_t>(factor)];
        if (at.kind == ir::FactorKind::kWhole) break;
        const bool exhausted = mesh.Size(strategy.cuts[static_cast<size_t>(factor)]) >= at.size;
        if (exhausted && factor != dimensions[d].back()) continue;
        absl::StatusOr<ir::Strategy> next = ir::WithCut(strategy, rule, mesh, factor, axis);
        if (next.ok()) strategy = *std::move(next);
        break;
      }
    }
  }
  return strategy;
}

}  // namespace cleave::search
