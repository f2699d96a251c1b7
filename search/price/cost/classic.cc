#include "search/price/cost/classic.h"

#include <algorithm>

namespace cleave::search {
namespace {

bool Names(const std::vector<ir::FactorList>& dimensions, int factor) {
  return std::any_of(dimensions.begin(), dimensions.end(), [&](const ir::FactorList& factors) {
    return std::find(factors.begin(), factors.end(), factor) != factors.end();
  });
}

}  // namespace

ProductFactor ProductFactorOf(const ir::Rule& rule, int factor) {
  if (rule.inputs.size() != 2) return ProductFactor::kOther;
  const bool left = Names(rule.inputs[0], factor), right = Names(rule.inputs[1], factor);
  const bool out = Names(rule.output, factor);
  if (left && right) return out ? ProductFactor::kBatch : ProductFactor::kContracted;
  if (left && out) return ProductFactor::kRows;
  return right && out ? ProductFactor::kColumns : ProductFactor::kOther;
}

double LocalElements(const ir::Rule& rule, const ir::Strategy& strategy, const ir::Mesh& mesh,
                     const std::vector<ir::FactorList>& dimensions) {
  double elements = 1;
  for (const ir::FactorList& factors : dimensions) {
    for (int factor : factors) {
      const auto index = static_cast<size_t>(factor);
      elements *= static_cast<double>(rule.factors[index].size) / static_cast<double>(mesh.Size(strategy.cuts[index]));
    }
  }
  return elements;
}

double LocalInputElements(const ir::Rule& rule, const ir::Strategy& strategy, const ir::Mesh& mesh, int input) {
  double elements = LocalElements(rule, strategy, mesh, rule.inputs[static_cast<size_t>(input)]);
  for (const ir::InputWindow& entry : rule.windows) {
    if (entry.input != input) continue;
    elements *= static_cast<double>(entry.window.elements) / static_cast<double>(entry.window.outer);
  }
  return elements;
}

double ClassicFactorCost(const ir::Rule& rule, const ir::Strategy& strategy, const ir::Mesh& mesh, int factor,
                         const ClassicOptions& options) {
  switch (ProductFactorOf(rule, factor)) {
    case ProductFactor::kBatch:
      return 0;
    case ProductFactor::kRows:
      return options.row_weight * LocalInputElements(rule, strategy, mesh, 1) / 2;
    case ProductFactor::kColumns:
      return LocalInputElements(rule, strategy, mesh, 0) / 2;
    case ProductFactor::kContracted:
    case ProductFactor::kOther:
      return LocalElements(rule, strategy, mesh, rule.output) / 2;
  }
  return 0;
}

bool ClassicAllows(const ir::Rule& rule, const ir::Strategy& strategy, int factor) {
  const ProductFactor own = ProductFactorOf(rule, factor);
  for (size_t other = 0; other < rule.factors.size(); ++other) {
    if (strategy.cuts[other].empty()) continue;
    const ProductFactor cut = ProductFactorOf(rule, static_cast<int>(other));
    if (own == ProductFactor::kColumns && cut == ProductFactor::kContracted) return false;
    if (own == ProductFactor::kContracted && cut == ProductFactor::kColumns) return false;
  }
  return true;
}

}  // namespace cleave::search
