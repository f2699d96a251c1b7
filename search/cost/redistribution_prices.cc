#include "search/cost/redistribution_prices.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace cleave {

bool Cheaper(const Cost& a, const Cost& b) {
  if (a.impossible != b.impossible) return a.impossible < b.impossible;
  const double slack = 1e-9 * std::max(std::abs(a.price), std::abs(b.price));
  if (std::abs(a.price - b.price) > slack) return a.price < b.price;
  return a.collectives < b.collectives;
}

LayoutIndex RedistributionPrices::Intern(const Layout& exact) {
  const Layout layout = relaxation_.representative == nullptr ? exact : relaxation_.representative(exact);
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

namespace {

// A dimension in two layouts.
struct TwoCuts {
  int64_t size = 1;
  std::vector<AxisId> source, target;
};

// Gives the axes of one size and weight new names in the order in which they are asked for, because they are
// interchangeable.
class AxisNames {
 public:
  explicit AxisNames(const Mesh& mesh)
      : mesh_(mesh),
        names_(static_cast<size_t>(mesh.axis_count()), AxisId(-1)),
        taken_(static_cast<size_t>(mesh.axis_count()), false) {}

  AxisId Rename(AxisId axis) {
    AxisId& name = names_[static_cast<size_t>(axis.value())];
    const MeshAxis& own = mesh_.axis(axis);
    for (int candidate = 0; name.value() < 0; ++candidate) {
      const MeshAxis& other = mesh_.axis(AxisId(candidate));
      if (taken_[static_cast<size_t>(candidate)] || other.size != own.size || other.weight != own.weight ||
          other.link != own.link) {
        continue;
      }
      taken_[static_cast<size_t>(candidate)] = true;
      name = AxisId(candidate);
    }
    return name;
  }
  void Rename(std::vector<AxisId>& axes) {
    for (AxisId& axis : axes) axis = Rename(axis);
  }
  void Rename(std::vector<PartialAxis>& partials) {
    for (PartialAxis& partial : partials) partial.axis = Rename(partial.axis);
    std::sort(partials.begin(), partials.end(),
              [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; });
  }

 private:
  const Mesh& mesh_;
  std::vector<AxisId> names_;
  std::vector<bool> taken_;
};

std::set<AxisId> UsedAxes(const Layout& source, const Layout& target) {
  std::set<AxisId> used;
  for (const Layout* layout : {&source, &target}) {
    for (const std::vector<AxisId>& axes : layout->dimensions) used.insert(axes.begin(), axes.end());
    for (const PartialAxis& partial : layout->partial) used.insert(partial.axis);
  }
  return used;
}

// Whether all pieces on the way are equal: every axis of the mesh may cut every dimension there.
bool IsEven(const Mesh& mesh, const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [&](int64_t size) { return size % mesh.rank_count() == 0; });
}

// Redistributions of evenly cut tensors that cost the same per byte, brought to one form: dimensions that nothing cuts
// are one, dimensions are sorted, axes renamed.
struct EvenForm {
  Shape shape;
  Layout source, target;
};

EvenForm EvenFormOf(const Mesh& mesh, const Shape& shape, const Layout& source, const Layout& target) {
  EvenForm form;
  std::vector<TwoCuts> dimensions;
  const auto is_whole = [](const TwoCuts& cuts) { return cuts.source.empty() && cuts.target.empty(); };
  for (size_t d = 0; d < source.dimensions.size(); ++d) {
    TwoCuts cuts{.size = shape[d], .source = source.dimensions[d], .target = target.dimensions[d]};
    const auto whole = std::find_if(dimensions.begin(), dimensions.end(), is_whole);
    if (is_whole(cuts) && whole != dimensions.end()) {
      whole->size *= cuts.size;
    } else {
      dimensions.push_back(std::move(cuts));
    }
  }
  const auto key = [&](const TwoCuts& cuts) {
    return std::tuple(cuts.source.size(), cuts.target.size(), mesh.Size(cuts.source), mesh.Size(cuts.target));
  };
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [&](const TwoCuts& a, const TwoCuts& b) { return key(a) < key(b); });
  AxisNames names(mesh);
  for (TwoCuts& cuts : dimensions) {
    form.shape.push_back(cuts.size);
    names.Rename(cuts.source);
    form.source.dimensions.push_back(std::move(cuts.source));
  }
  form.source.partial = source.partial;
  names.Rename(form.source.partial);
  for (TwoCuts& cuts : dimensions) {
    names.Rename(cuts.target);
    form.target.dimensions.push_back(std::move(cuts.target));
  }
  form.target.partial = target.partial;
  names.Rename(form.target.partial);
  return form;
}

}  // namespace

std::optional<Cost> RedistributionPrices::Price(TypeIndex type, LayoutIndex source, LayoutIndex target) {
  if (source == target) return Cost{};
  const std::pair<uint64_t, int> key((static_cast<uint64_t>(source) << 32) | static_cast<uint64_t>(target), type);
  Known& known = this->known();
  if (const auto found = known.prices.find(key); found != known.prices.end()) return found->second;
  const TensorType& exact = types_[static_cast<size_t>(type)];
  const Layout& from = layout(source);
  const Layout& to = layout(target);
  const bool even = IsEven(mesh_, exact.shape) && from.windows.empty() && to.windows.empty();
  const std::optional<Cost> price = relaxation_.price != nullptr ? relaxation_.price(exact, from, to)
                                    : even                       ? PriceOfEven(exact, from, to)
                                                                 : PriceOfUneven(exact, from, to);
  known.prices.emplace(key, price);
  return price;
}

// Where all pieces are equal, bytes are proportional to the size: what is planned for one shape holds for all.
std::optional<Cost> RedistributionPrices::PriceOfEven(const TensorType& type, const Layout& source,
                                                      const Layout& target) {
  EvenForm form = EvenFormOf(mesh_, type.shape, source, target);
  const TensorType typical{DType::kF32, Shape(form.shape.size(), 16 * int64_t{mesh_.rank_count()})};
  const auto [found, is_new] = known().even.emplace(std::pair(form.source, form.target), std::nullopt);
  if (is_new) found->second = Planned(typical, form.source, form.target);
  if (!found->second.has_value()) return std::nullopt;
  Cost cost = CostOf({type.dtype, form.shape}, form.source, *found->second);
  if (price_ == nullptr) {
    cost.price *= static_cast<double>(type.bytes().value()) / static_cast<double>(typical.bytes().value());
  }
  return cost;
}

std::optional<Cost> RedistributionPrices::PriceOfUneven(const TensorType& type, Layout source, Layout target) {
  AxisNames names(mesh_);
  for (Layout* renamed : {&source, &target}) {
    for (std::vector<AxisId>& axes : renamed->dimensions) names.Rename(axes);
    names.Rename(renamed->partial);
  }
  const auto [found, is_new] = known().uneven.emplace(std::tuple(type.shape, source, target), std::nullopt);
  if (!is_new) return found->second;
  const std::optional<Redistribution> way = Planned(type, source, target);
  if (way.has_value()) found->second = CostOf(type, source, *way);
  return found->second;
}

Cost RedistributionPrices::CostOf(const TensorType& type, const Layout& source, const Redistribution& way) const {
  const double price = price_ == nullptr ? way.cost : price_(type, source, way);
  return {.price = price, .collectives = way.collectives, .impossible = 0};
}

std::optional<Redistribution> RedistributionPrices::Planned(const TensorType& type, const Layout& source,
                                                            const Layout& target) {
  // Full planning looks at the layouts over all axes that are in play.
  work_ += effort_ == RedistributionEffort::kDirect
               ? lookups_per_direct_way_
               : lookups_per_full_way_ << std::min<size_t>(UsedAxes(source, target).size(), 16);
  absl::StatusOr<Redistribution> way = PlanRedistribution(mesh_, type, source, target, effort_);
  if (!way.ok()) return std::nullopt;
  return *std::move(way);
}

Cost RedistributionPrices::Serve(TypeIndex type, LayoutIndex produced, const std::vector<Demanded>& reads) {
  available_.assign(1, produced);
  Cost total;
  for (const Demanded& read : reads) {
    if (read.weight == 0 || std::find(available_.begin(), available_.end(), read.layout) != available_.end()) continue;
    std::optional<Cost> least;
    for (LayoutIndex source : available_) {
      const std::optional<Cost> price = Price(type, source, read.layout);
      if (price.has_value() && (!least.has_value() || Cheaper(*price, *least))) least = price;
    }
    available_.push_back(read.layout);
    if (!least.has_value()) {
      ++total.impossible;
    } else {
      total = total + Cost{.price = read.weight * least->price, .collectives = least->collectives, .impossible = 0};
    }
  }
  return total;
}

}  // namespace cleave
