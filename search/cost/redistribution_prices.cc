#include "search/cost/redistribution_prices.h"

#include <algorithm>
#include <cmath>

namespace cleave {

bool Cheaper(const Cost& a, const Cost& b) {
  if (a.impossible != b.impossible) return a.impossible < b.impossible;
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
  if (way.ok()) price = Cost{.bytes = way->cost, .collectives = way->collectives, .impossible = 0};
  prices_.emplace(key, price);
  return price;
}

Cost RedistributionPrices::Serve(TypeIndex type, LayoutIndex produced, const std::vector<Demanded>& reads) {
  available_.assign(1, produced);
  Cost total;
  for (const Demanded& read : reads) {
    if (std::find(available_.begin(), available_.end(), read.layout) != available_.end()) continue;
    std::optional<Cost> least;
    for (LayoutIndex source : available_) {
      const std::optional<Cost> price = Price(type, source, read.layout);
      if (price.has_value() && (!least.has_value() || Cheaper(*price, *least))) least = price;
    }
    available_.push_back(read.layout);
    if (!least.has_value()) {
      ++total.impossible;
    } else if (read.weight > 0) {
      total = total + Cost{.bytes = read.weight * least->bytes, .collectives = least->collectives, .impossible = 0};
    }
  }
  return total;
}

}  // namespace cleave
