#include "ir/program/redistribute/arrangement.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace cleave::ir {
namespace {

// The place of an axis in a layout.
struct Place {
  enum class Kind { kReplicated, kPartial, kDimension };
  Kind kind = Kind::kReplicated;
  size_t dimension = 0;
  size_t position = 0;
  Reduction reduction = Reduction::kSum;

  bool operator==(const Place&) const = default;
};

std::vector<Place> PlacesOf(const Layout& layout, const Mesh& mesh) {
  std::vector<Place> places(static_cast<size_t>(mesh.axis_count()));
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    for (size_t i = 0; i < layout.dimensions[d].size(); ++i) {
      places[static_cast<size_t>(layout.dimensions[d][i].value())] = {
          .kind = Place::Kind::kDimension, .dimension = d, .position = i};
    }
  }
  for (const PartialAxis& entry : layout.partial) {
    places[static_cast<size_t>(entry.axis.value())] = {.kind = Place::Kind::kPartial, .reduction = entry.reduction};
  }
  return places;
}

// Whether an axis at `second` may join the end of an atom whose last axis is at `first`.
bool Follows(const Place& first, const Place& second) {
  if (first.kind != second.kind || first.dimension != second.dimension) return false;
  if (first.kind == Place::Kind::kDimension) return second.position == first.position + 1;
  return first.reduction == second.reduction;
}

// The axes that take part: in the order of the target's dimensions, so that those that can make one atom follow one
// another, then of the source's dimensions, then the source's partial ones. For a shared problem as ProblemSize says.
AxisList InAtomOrder(const Mesh& mesh, const std::vector<bool>& moves, const Layout& source, const Layout& target,
                     ProblemSize size) {
  AxisList order;
  const auto append = [&](AxisId axis) {
    if (moves[static_cast<size_t>(axis.value())] && std::find(order.begin(), order.end(), axis) == order.end()) {
      order.push_back(axis);
    }
  };
  const auto append_cuts = [&](const Layout& layout) {
    for (const AxisList& axes : layout.dimensions) std::for_each(axes.begin(), axes.end(), append);
  };
  if (size != ProblemSize::kShared) append_cuts(target);
  append_cuts(source);
  for (const PartialAxis& entry : source.partial) append(entry.axis);
  if (size == ProblemSize::kShared) {
    append_cuts(target);
    std::stable_sort(order.begin(), order.end(), [&](AxisId a, AxisId b) {
      const MeshAxis &first = mesh.axis(a), &second = mesh.axis(b);
      return std::tie(first.weight, first.link, first.size) < std::tie(second.weight, second.link, second.size);
    });
  }
  return order;
}

Arrangement Arrange(const std::vector<Atom>& atoms, const std::vector<Place>& places, size_t rank) {
  std::vector<std::tuple<size_t, size_t, AtomIndex>> ordered;  // Dimension, position of the first axis, atom.
  Arrangement arrangement(rank);
  for (size_t i = 0; i < atoms.size(); ++i) {
    const Place& place = places[static_cast<size_t>(atoms[i].axes.front().value())];
    if (place.kind == Place::Kind::kPartial) arrangement.AddPartial(static_cast<AtomIndex>(i));
    if (place.kind == Place::Kind::kDimension) {
      ordered.push_back({place.dimension, place.position, static_cast<AtomIndex>(i)});
    }
  }
  std::sort(ordered.begin(), ordered.end());
  for (const auto& [dimension, position, atom] : ordered) arrangement.Append(dimension, {atom});
  return arrangement;
}

// What the atoms are made of, once they are known.
void MeasureAtoms(Problem& problem) {
  std::set<double> weights;
  for (const Atom& atom : problem.atoms) {
    for (AxisId axis : atom.axes) weights.insert(problem.mesh.axis(axis).weight);
  }
  problem.weights.assign(weights.begin(), weights.end());
  for (Atom& atom : problem.atoms) {
    atom.ranks.assign(problem.weights.size(), 1);
    for (AxisId axis : atom.axes) {
      const MeshAxis& mesh_axis = problem.mesh.axis(axis);
      const auto weight = std::find(problem.weights.begin(), problem.weights.end(), mesh_axis.weight);
      atom.ranks[static_cast<size_t>(weight - problem.weights.begin())] *= mesh_axis.size;
      atom.size *= mesh_axis.size;
    }
  }
  const double dearest = problem.weights.empty() ? 1 : problem.weights.back();
  const auto bytes = static_cast<double>(problem.type.bytes().value());
  const double whole = problem.price == nullptr
                           ? bytes * (dearest > 0 ? dearest : 1)
                           : problem.price(CollectiveKind::kAllGather, problem.mesh.AxisIds(), bytes);
  // Not a round number, so that no price lies near the boundary between two ticks.
  constexpr double kTicks = 0.7310585786300049 * (int64_t{1} << 40);
  problem.ticks_per_cost = kTicks / std::max(whole, 1e-9);
}

// Atoms of one size and weight that the target does not use are of one kind, unless the problem is shared.
void FindKinds(Problem& problem, ProblemSize size) {
  for (size_t d = 0; d < problem.target.rank(); ++d) {
    for (AtomIndex atom : problem.target.Dimension(d)) problem.atoms[atom].target_dimension = static_cast<int>(d);
  }
  for (size_t i = 0; i < problem.atoms.size(); ++i) {
    Atom& atom = problem.atoms[i];
    atom.kind = static_cast<int>(i);
    for (size_t j = 0; j < i && atom.target_dimension < 0 && size != ProblemSize::kShared; ++j) {
      const Atom& other = problem.atoms[j];
      if (other.target_dimension >= 0 || other.ranks != atom.ranks) continue;
      atom.kind = other.kind;
      break;
    }
  }
}

}  // namespace

bool Contains(AtomSpan atoms, AtomIndex atom) { return std::find(atoms.begin(), atoms.end(), atom) != atoms.end(); }

void Arrangement::Append(size_t d, AtomSpan atoms) {
  const AtomList copy(atoms.begin(), atoms.end());  // A copy, because `atoms` may be a part of this list.
  atoms_.insert(atoms_.begin() + ends_[d], copy.begin(), copy.end());
  for (size_t i = d; i < rank(); ++i) ends_[i] = static_cast<uint8_t>(ends_[i] + copy.size());
}

void Arrangement::ToInt32(size_t d, size_t keep) {
  const size_t begin = Begin(d) + keep;
  const size_t removed = ends_[d] - begin;
  atoms_.erase(atoms_.begin() + static_cast<ptrdiff_t>(begin), atoms_.begin() + ends_[d]);
  for (size_t i = d; i < rank(); ++i) ends_[i] = static_cast<uint8_t>(ends_[i] - removed);
}

void Arrangement::RemovePartial(AtomSpan atoms) {
  const AtomList copy(atoms.begin(), atoms.end());
  atoms_.erase(std::remove_if(atoms_.begin() + static_cast<ptrdiff_t>(Begin(rank())), atoms_.end(),
                              [&](AtomIndex atom) { return std::find(copy.begin(), copy.end(), atom) != copy.end(); }),
               atoms_.end());
}

Problem MakeProblem(const Mesh& mesh, const CollectivePrice& price, const TensorType& type, const Layout& source,
                    const Layout& target, ProblemSize size) {
  Problem problem{.mesh = mesh, .price = price, .type = type};
  const std::vector<Place> from = PlacesOf(source, mesh);
  const std::vector<Place> to = PlacesOf(target, mesh);
  std::vector<bool> moves(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    moves[i] = from[i].kind != Place::Kind::kReplicated || to[i].kind != Place::Kind::kReplicated;
  }
  for (size_t d = 0; d < source.dimensions.size(); ++d) {
    const AxisList& before = source.dimensions[d];
    const AxisList& after = target.dimensions[d];
    const auto shared = std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first;
    problem.fixed.emplace_back(before.begin(), size == ProblemSize::kMerged ? shared : before.begin());
    problem.fixed_count.push_back(mesh.Size(problem.fixed.back()));
    for (AxisId axis : problem.fixed.back()) moves[static_cast<size_t>(axis.value())] = false;
  }
  for (const PartialAxis& entry : target.partial) {
    problem.fixed_partial.push_back(entry);
    moves[static_cast<size_t>(entry.axis.value())] = false;
  }
  const auto is_joined = [&](AxisId first, AxisId second) {
    const size_t a = static_cast<size_t>(first.value()), b = static_cast<size_t>(second.value());
    return size == ProblemSize::kMerged && Follows(from[a], from[b]) && Follows(to[a], to[b]);
  };
  AxisId last;
  for (AxisId axis : InAtomOrder(mesh, moves, source, target, size)) {
    if (problem.atoms.empty() || !is_joined(last, axis)) {
      problem.atoms.push_back({.reduction = from[static_cast<size_t>(axis.value())].reduction});
    }
    problem.atoms.back().axes.push_back(axis);
    last = axis;
  }
  MeasureAtoms(problem);
  problem.source = Arrange(problem.atoms, from, source.dimensions.size());
  problem.target = Arrange(problem.atoms, to, source.dimensions.size());
  FindKinds(problem, size);
  return problem;
}

int64_t Problem::CutCount(AtomSpan indexes) const {
  int64_t count = 1;
  for (AtomIndex index : indexes) count *= atoms[index].size;
  return count;
}

double Problem::LocalBytes(const Arrangement& arrangement) const {
  double bytes = static_cast<double>(ElementSize(type.dtype).value());
  for (size_t d = 0; d < fixed_count.size(); ++d) {
    bytes *= static_cast<double>(LargestPiece(type.shape[d], fixed_count[d] * CutCount(arrangement.Dimension(d))));
  }
  return bytes;
}

AtomList Problem::ReplicatedAtoms(const Arrangement& arrangement) const {
  absl::InlinedVector<bool, 32> placed(atoms.size(), false);
  for (size_t d = 0; d < arrangement.rank(); ++d) {
    for (AtomIndex atom : arrangement.Dimension(d)) placed[atom] = true;
  }
  for (AtomIndex atom : arrangement.Partial()) placed[atom] = true;
  AtomList replicated;
  for (size_t i = 0; i < atoms.size(); ++i) {
    if (!placed[i]) replicated.push_back(static_cast<AtomIndex>(i));
  }
  return replicated;
}

bool Problem::IsInPlace(AtomSpan dimension, size_t d) const {
  const AtomSpan wanted = target.Dimension(d);
  return dimension.size() <= wanted.size() && std::equal(dimension.begin(), dimension.end(), wanted.begin());
}

AxisList Problem::AxesOf(AtomSpan indexes) const {
  AxisList axes;
  for (AtomIndex index : indexes) axes.insert(axes.end(), atoms[index].axes.begin(), atoms[index].axes.end());
  return axes;
}

Layout Problem::LayoutOf(const Arrangement& arrangement) const {
  Layout layout{.dimensions = fixed, .partial = fixed_partial};
  for (size_t d = 0; d < fixed.size(); ++d) {
    const AxisList axes = AxesOf(arrangement.Dimension(d));
    layout.dimensions[d].insert(layout.dimensions[d].end(), axes.begin(), axes.end());
  }
  for (AtomIndex atom : arrangement.Partial()) {
    for (AxisId axis : atoms[atom].axes) layout.partial.push_back({axis, atoms[atom].reduction});
  }
  std::sort(layout.partial.begin(), layout.partial.end(),
            [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; });
  return layout;
}

int64_t Problem::Ticks(double cost) const { return std::llround(cost * ticks_per_cost); }

}  // namespace cleave::ir
