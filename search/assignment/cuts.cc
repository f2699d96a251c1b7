// Moving one mesh axis within a strategy.
#include <algorithm>

#include "search/assignment/assignment.h"

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

int Assignment::CutLike(OpId op, int slot, LayoutIndex layout, AxisId axis) {
  const std::tuple<int, int, int, int, int> key(facts_.rule_of[op], chosen_[op], slot, layout, axis.value());
  if (const auto found = cut_like_.find(key); found != cut_like_.end()) return found->second;
  const Rule& rule = facts_.rule(op);
  Strategy result = Without(strategy(op), axis);
  const Layout& like = prices_.layout(layout);
  const int dimension = DimensionCutBy(like, axis);
  if (dimension >= 0) {
    const auto d = static_cast<size_t>(dimension);
    const std::vector<FactorList>& dimensions = slot < 0 ? rule.output : rule.inputs[static_cast<size_t>(slot)];
    result = WithDimensionCut(result, rule, mesh(), dimensions, d, axis, like.dimensions[d]).value_or(result);
  }
  const int index = Intern(op, result);
  cut_like_.emplace(key, index);
  return index;
}

}  // namespace cleave
