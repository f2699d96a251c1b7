#include "search/cost/redistribution_prices.h"

#include <cmath>

namespace cleave {

bool Cheaper(const Cost& a, const Cost& b) {
  const double slack = 1e-9 * std::max(std::abs(a.bytes), std::abs(b.bytes));
  if (std::abs(a.bytes - b.bytes) > slack) return a.bytes < b.bytes;
  return a.collectives < b.collectives;
}

LayoutIndex RedistributionPrices::Intern(const Layout& layout) {
  const auto [found, is_new] = layout_index_.emplace(layout, static_cast<LayoutIndex>(layouts_.size()));
  if (is_new) layouts_.push_back(layout);
  return found->second;
}

TypeIndex RedistributionPrices::Intern(const TensorType& type) {
  const auto [found, is_new] =
      type_index_.emplace(std::pair(static_cast<int>(type.dtype), type.shape), static_cast<TypeIndex>(types_.size()));
  if (is_new) types_.push_back(type);
  return found->second;
}

std::optional<Cost> RedistributionPrices::Price(TypeIndex type, LayoutIndex source, LayoutIndex target) {
  if (source == target) return Cost{};
  const std::pair<uint64_t, int> key((static_cast<uint64_t>(source) << 32) | static_cast<uint64_t>(target), type);
  if (const auto found = prices_.find(key); found != prices_.end()) return found->second;
  const absl::StatusOr<Redistribution> way =
      PlanRedistribution(mesh_, types_[static_cast<size_t>(type)], layout(source), layout(target));
  std::optional<Cost> price;
  if (way.ok()) price = Cost{.bytes = way->cost, .collectives = way->collectives};
  prices_.emplace(key, price);
  return price;
}

}  // namespace cleave
