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

// Axes of one size and weight are interchangeable: gives each class its axes in the order in which the pair of layouts names them.
std::pair<Layout, Layout> RedistributionPrices::Canonical(const Layout& source, const Layout& target) const {
  std::vector<AxisId> renamed(static_cast<size_t>(mesh_.axis_count()), AxisId(-1));
  std::vector<bool> taken(static_cast<size_t>(mesh_.axis_count()), false);
  const auto rename = [&](AxisId axis) {
    AxisId& name = renamed[static_cast<size_t>(axis.value())];
    const MeshAxis& own = mesh_.axis(axis);
    for (int candidate = 0; name.value() < 0; ++candidate) {
      const MeshAxis& other = mesh_.axis(AxisId(candidate));
      if (taken[static_cast<size_t>(candidate)] || other.size != own.size || other.weight != own.weight) continue;
      taken[static_cast<size_t>(candidate)] = true;
      name = AxisId(candidate);
    }
    return name;
  };
  const auto rename_all = [&](Layout layout) {
    for (std::vector<AxisId>& axes : layout.dimensions) {
      for (AxisId& axis : axes) axis = rename(axis);
    }
    for (PartialAxis& partial : layout.partial) partial.axis = rename(partial.axis);
    std::sort(layout.partial.begin(), layout.partial.end(),
              [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; });
    return layout;
  };
  Layout first = rename_all(source);
  return {std::move(first), rename_all(target)};
}

std::optional<Cost> RedistributionPrices::Price(TypeIndex type, LayoutIndex source, LayoutIndex target) {
  if (source == target) return Cost{};
  const std::pair<uint64_t, int> key((static_cast<uint64_t>(source) << 32) | static_cast<uint64_t>(target), type);
  if (const auto found = prices_.find(key); found != prices_.end()) return found->second;
  const TensorType& exact = types_[static_cast<size_t>(type)];
  // Where all pieces are equal, the price is proportional to the size: one shape stands for all.
  const int64_t ranks = mesh_.rank_count();
  const bool even = std::all_of(exact.shape.begin(), exact.shape.end(), [&](int64_t size) { return size % ranks == 0; });
  const TensorType priced = even ? TensorType{DType::kF32, Shape(exact.shape.size(), 16 * ranks)} : exact;
  const auto [from, to] = Canonical(layout(source), layout(target));
  const std::tuple<Layout, Layout, Shape> canonical(from, to, priced.shape);
  auto found = canonical_prices_.find(canonical);
  if (found == canonical_prices_.end()) {
    const absl::StatusOr<Redistribution> way = PlanRedistribution(mesh_, priced, from, to);
    std::optional<Cost> price;
    if (way.ok()) price = Cost{.bytes = way->cost, .collectives = way->collectives, .impossible = 0};
    found = canonical_prices_.emplace(canonical, price).first;
  }
  std::optional<Cost> price = found->second;
  if (price.has_value() && even) {
    price->bytes *= static_cast<double>(exact.bytes().value()) / static_cast<double>(priced.bytes().value());
  }
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
