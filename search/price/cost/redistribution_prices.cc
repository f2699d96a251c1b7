// Reading guide: NumberOf looks a price up. If it is new, PriceOfEven plans the redistribution once for all shapes
// whose pieces are all equal (EvenFormOf), NumberOfUneven for one shape; both once for all layouts that differ only in
// the names of interchangeable axes (CanonicalAxes).
#include "search/price/cost/redistribution_prices.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace cleave::search {

bool Cheaper(const Cost& a, const Cost& b) {
  if (a.impossible != b.impossible) return a.impossible < b.impossible;
  const double slack = 1e-9 * std::max(std::abs(a.price), std::abs(b.price));
  if (std::abs(a.price - b.price) > slack) return a.price < b.price;
  return a.collectives < b.collectives;
}

namespace {

// Whether all intermediate pieces are equal: every axis of the mesh may cut every dimension there.
bool IsEven(const ir::Mesh& mesh, const ir::Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [&](int64_t size) { return size % mesh.rank_count() == 0; });
}

}  // namespace

LayoutIndex RedistributionPrices::Intern(const ir::Layout& exact) {
  const ir::Layout layout = relaxation_.representative == nullptr ? exact : relaxation_.representative(exact);
  const auto [found, is_new] = layout_index_.emplace(layout, static_cast<LayoutIndex>(layouts_.size()));
  if (is_new) layouts_.push_back(layout);
  return found->second;
}

TypeIndex RedistributionPrices::Intern(const ir::TensorType& type, int64_t times, SentTogether together) {
  if (price_ == nullptr) together = {};  // Bytes are the same in any message.
  const auto [found, is_new] =
      type_index_.emplace(std::tuple(static_cast<int>(type.dtype), type.shape, times, together.equal, together.all),
                          static_cast<TypeIndex>(types_.size()));
  if (is_new) {
    types_.push_back(type);
    times_.push_back(times);
    together_.push_back(together);
    is_even_.push_back(IsEven(mesh(), type.shape));
  }
  return found->second;
}

namespace {

// The cuts of a dimension in two layouts.
struct TwoCuts {
  int64_t size = 1;
  ir::AxisList source, target;
};

// Gives the axes of one size and weight new names in the order in which they are asked for, because they are
// interchangeable.
class CanonicalAxes {
 public:
  explicit CanonicalAxes(const ir::Mesh& mesh)
      : CanonicalAxes(mesh, ir::AxisList(static_cast<size_t>(mesh.axis_count()), ir::AxisId(-1))) {}
  // Goes on after axes that have names already; -1 for those that have none.
  CanonicalAxes(const ir::Mesh& mesh, ir::AxisList names)
      : mesh_(mesh), names_(std::move(names)), taken_(names_.size(), false) {
    for (ir::AxisId name : names_) {
      if (name.value() >= 0) taken_[static_cast<size_t>(name.value())] = true;
    }
  }

  const ir::AxisList& names() const { return names_; }

  ir::AxisId Rename(ir::AxisId axis) {
    ir::AxisId& name = names_[static_cast<size_t>(axis.value())];
    const ir::MeshAxis& own = mesh_.axis(axis);
    for (int candidate = 0; name.value() < 0; ++candidate) {
      const ir::MeshAxis& other = mesh_.axis(ir::AxisId(candidate));
      if (taken_[static_cast<size_t>(candidate)] || other.size != own.size || other.weight != own.weight ||
          other.link != own.link) {
        continue;
      }
      taken_[static_cast<size_t>(candidate)] = true;
      name = ir::AxisId(candidate);
    }
    return name;
  }
  void Rename(ir::AxisList& axes) {
    for (ir::AxisId& axis : axes) axis = Rename(axis);
  }
  void Rename(ir::Layout& layout) {
    for (ir::AxisList& axes : layout.dimensions) Rename(axes);
    Rename(layout.partial);
  }
  void Rename(std::vector<ir::PartialAxis>& partials) {
    for (ir::PartialAxis& partial : partials) partial.axis = Rename(partial.axis);
    std::sort(partials.begin(), partials.end(),
              [](const ir::PartialAxis& a, const ir::PartialAxis& b) { return a.axis < b.axis; });
  }

 private:
  const ir::Mesh& mesh_;
  ir::AxisList names_;
  std::vector<bool> taken_;
};

std::set<ir::AxisId> UsedAxes(const ir::Layout& source, const ir::Layout& target) {
  std::set<ir::AxisId> used;
  for (const ir::Layout* layout : {&source, &target}) {
    for (const ir::AxisList& axes : layout->dimensions) used.insert(axes.begin(), axes.end());
    for (const ir::PartialAxis& partial : layout->partial) used.insert(partial.axis);
  }
  return used;
}

// One form for all redistributions of evenly cut tensors that cost the same per byte: dimensions that nothing cuts are
// joined, dimensions are sorted, axes are renamed.
struct EvenForm {
  ir::Shape shape;
  ir::Layout source, target;
};

EvenForm EvenFormOf(const ir::Mesh& mesh, const ir::Shape& shape, const ir::Layout& source, const ir::Layout& target) {
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
  CanonicalAxes names(mesh);
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

// A shape of `elements` that every axis may cut evenly in every dimension, as one of the same rank and elements is.
ir::Shape ShapeOf(int64_t elements, size_t rank, int64_t ranks) {
  ir::Shape shape(rank, ranks);
  for (size_t d = 1; d < rank; ++d) elements /= ranks;
  if (rank > 0) shape[0] = elements;
  return shape;
}

}  // namespace

std::optional<Cost> RedistributionPrices::Price(TypeIndex type, LayoutIndex source, LayoutIndex target) {
  return price(NumberOf(type, source, target));
}

RedistributionPrices::PriceNumber RedistributionPrices::Add(TypeIndex type, std::optional<Cost> cost) {
  const int64_t times = times_[static_cast<size_t>(type)];
  if (cost.has_value() && times > 1) {
    cost->price *= static_cast<double>(times);
    cost->collectives *= static_cast<int>(times);
  }
  known().costs.push_back(cost);
  return static_cast<PriceNumber>(known().costs.size()) - 1;
}

RedistributionPrices::PriceNumber RedistributionPrices::NumberOf(TypeIndex type, LayoutIndex source,
                                                                 LayoutIndex target) {
  if (source == target) return 0;
  if (relaxation_.price == nullptr && !is_even_[static_cast<size_t>(type)]) return NumberOfUneven(type, source, target);
  const Key key = KeyOf(type, source, target);
  if (const auto found = known().prices.find(key); found != known().prices.end()) return found->second;
  const ir::Layout& from = layout(source);
  const ir::TensorType exact = SentType(type, from);
  const ir::Layout& to = layout(target);
  const bool has_windows = !from.windows.empty() || !to.windows.empty();
  const PriceNumber number = relaxation_.price != nullptr ? Add(type, relaxation_.price(exact, from, to))
                             : has_windows                ? NumberOfUneven(type, source, target)
                                                          : Add(type, PriceOfEven(type, from, to));
  known().prices.emplace(key, number);
  return number;
}

ir::TensorType RedistributionPrices::SentType(TypeIndex type, const ir::Layout& source) const {
  ir::TensorType sent = types_[static_cast<size_t>(type)];
  if (sums_.has_value() && ir::Is16Bit(sent.dtype) && source.is_partial()) sent.dtype = *sums_;
  return sent;
}

// Where all pieces are equal, bytes are proportional to the size: a redistribution that is planned for one shape holds
// for all where the price is bytes, and else for all shapes of as many bytes.
std::optional<Cost> RedistributionPrices::PriceOfEven(TypeIndex number, const ir::Layout& source,
                                                      const ir::Layout& target) {
  const ir::TensorType type = SentType(number, source);
  EvenForm form = EvenFormOf(mesh(), type.shape, source, target);
  ir::TensorType typical{ir::DType::kF32, ir::Shape(form.shape.size(), 16 * int64_t{mesh().rank_count()})};
  const int64_t bytes = price_ == nullptr ? 0 : type.bytes().value();
  if (bytes > 0) typical = ir::TensorType{ir::DType::kI8, ShapeOf(bytes, form.shape.size(), mesh().rank_count())};
  auto& by_bytes = known().even[{form.source, form.target}];
  if (by_bytes.empty()) CountWork(form.source, form.target);
  const auto [found, is_new] = by_bytes.emplace(bytes, std::nullopt);
  if (is_new) found->second = Planned(typical, form.source, form.target);
  if (!found->second.has_value()) return std::nullopt;
  Cost cost = CostOf(number, {type.dtype, form.shape}, form.source, *found->second);
  if (price_ == nullptr) {
    cost.price *= static_cast<double>(type.bytes().value()) / static_cast<double>(typical.bytes().value());
  }
  return cost;
}

RedistributionPrices::CanonicalSource RedistributionPrices::CanonicalSourceOf(LayoutIndex source) {
  if (const auto found = canonical_sources_.find(source); found != canonical_sources_.end()) return found->second;
  CanonicalAxes names(mesh());
  ir::Layout from = layout(source);
  names.Rename(from);
  const auto [number, is_new] = axis_names_index_.emplace(names.names(), static_cast<int>(axis_names_.size()));
  if (is_new) axis_names_.push_back(names.names());
  const CanonicalSource canonical{.layout = Intern(from), .names = number->second};
  canonical_sources_.emplace(source, canonical);
  return canonical;
}

LayoutIndex RedistributionPrices::CanonicalTargetOf(LayoutIndex target, int names) {
  const std::pair key(target, names);
  if (const auto found = canonical_targets_.find(key); found != canonical_targets_.end()) return found->second;
  ir::Layout to = layout(target);
  CanonicalAxes(mesh(), axis_names_[static_cast<size_t>(names)]).Rename(to);
  const LayoutIndex canonical = Intern(to);
  canonical_targets_.emplace(key, canonical);
  return canonical;
}

// Planned once for all pairs of layouts that differ only in the names of equal axes.
RedistributionPrices::PriceNumber RedistributionPrices::NumberOfUneven(TypeIndex type, LayoutIndex source,
                                                                       LayoutIndex target) {
  const CanonicalSource canonical = CanonicalSourceOf(source);
  const LayoutIndex first = canonical.layout, last = CanonicalTargetOf(target, canonical.names);
  if (first == last) return 0;
  const Key key = KeyOf(type, first, last);
  if (const auto found = known().prices.find(key); found != known().prices.end()) return found->second;
  const ir::TensorType exact = SentType(type, layout(first));
  CountWork(layout(first), layout(last));
  const std::optional<ir::Redistribution> way = Planned(exact, layout(first), layout(last));
  const PriceNumber number =
      Add(type, way.has_value() ? std::optional(CostOf(type, exact, layout(first), *way)) : std::nullopt);
  known().prices.emplace(key, number);
  return number;
}

Cost RedistributionPrices::CostOf(TypeIndex number, const ir::TensorType& type, const ir::Layout& source,
                                  const ir::Redistribution& way) const {
  const double price = price_ == nullptr ? way.cost : price_(type, source, way, together_[static_cast<size_t>(number)]);
  return {.price = price, .collectives = way.collectives, .impossible = 0};
}

void RedistributionPrices::CountWork(const ir::Layout& source, const ir::Layout& target) {
  // Full planning looks at the layouts over all axes that the two layouts use.
  work_ += effort_ == ir::RedistributionEffort::kDirect
               ? lookups_per_direct_way_
               : lookups_per_full_way_ << std::min<size_t>(UsedAxes(source, target).size(), 16);
}

std::optional<ir::Redistribution> RedistributionPrices::Planned(const ir::TensorType& type, const ir::Layout& source,
                                                                const ir::Layout& target) {
  absl::StatusOr<ir::Redistribution> way = planner_->Plan(type, source, target, effort_);
  if (!way.ok()) return std::nullopt;
  return *std::move(way);
}

Cost RedistributionPrices::Serve(TypeIndex type, LayoutIndex produced, const std::vector<LayoutDemand>& reads) {
  const auto layout_of = [&](size_t tensor) { return tensor == 0 ? produced : reads[tensor - 1].layout; };
  return ServeInOrder(
      reads, [&](size_t a, size_t b) { return layout_of(a) == layout_of(b); },
      [&](size_t source, size_t target) -> const std::optional<Cost>& {
        return price(NumberOf(type, layout_of(source), layout_of(target)));
      },
      made_);
}

}  // namespace cleave::search
