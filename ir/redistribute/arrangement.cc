#include "ir/redistribute/arrangement.h"

#include <algorithm>

namespace cleave {
namespace {

// Where an axis is in a layout.
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

// The moving axes, those that can make an atom after one another: in the order of the target's dimensions, then of the
// source's.
std::vector<AxisId> InAtomOrder(const std::vector<bool>& moves, const Layout& source, const Layout& target) {
  std::vector<AxisId> order;
  const auto append = [&](AxisId axis) {
    if (moves[static_cast<size_t>(axis.value())] && std::find(order.begin(), order.end(), axis) == order.end()) {
      order.push_back(axis);
    }
  };
  for (const std::vector<AxisId>& axes : target.dimensions) std::for_each(axes.begin(), axes.end(), append);
  for (const std::vector<AxisId>& axes : source.dimensions) std::for_each(axes.begin(), axes.end(), append);
  for (const PartialAxis& entry : source.partial) append(entry.axis);
  return order;
}

Arrangement Arrange(const std::vector<Atom>& atoms, const std::vector<Place>& places, size_t rank) {
  Arrangement arrangement;
  arrangement.dimensions.resize(rank);
  std::vector<std::pair<size_t, int>> ordered;  // Position of the first axis, atom.
  for (size_t i = 0; i < atoms.size(); ++i) {
    const Place& place = places[static_cast<size_t>(atoms[i].axes.front().value())];
    if (place.kind == Place::Kind::kPartial) arrangement.partial.push_back(static_cast<int>(i));
    if (place.kind == Place::Kind::kDimension) ordered.push_back({place.position, static_cast<int>(i)});
  }
  std::sort(ordered.begin(), ordered.end());
  for (const auto& [position, atom] : ordered) {
    const Place& place = places[static_cast<size_t>(atoms[static_cast<size_t>(atom)].axes.front().value())];
    arrangement.dimensions[place.dimension].push_back(atom);
  }
  return arrangement;
}

}  // namespace

Problem MakeProblem(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target,
                    ProblemSize size) {
  Problem problem{
      .mesh = mesh, .type = type, .fixed = {}, .fixed_partial = {}, .atoms = {}, .source = {}, .target = {}};
  const std::vector<Place> from = PlacesOf(source, mesh);
  const std::vector<Place> to = PlacesOf(target, mesh);
  std::vector<bool> moves(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    moves[i] = from[i].kind != Place::Kind::kReplicated || to[i].kind != Place::Kind::kReplicated;
  }
  for (size_t d = 0; d < source.dimensions.size(); ++d) {
    const std::vector<AxisId>& before = source.dimensions[d];
    const std::vector<AxisId>& after = target.dimensions[d];
    const int64_t shared =
        size == ProblemSize::kWhole
            ? 0
            : std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first - before.begin();
    problem.fixed.emplace_back(before.begin(), before.begin() + shared);
    for (AxisId axis : problem.fixed.back()) moves[static_cast<size_t>(axis.value())] = false;
  }
  for (const PartialAxis& entry : target.partial) {
    problem.fixed_partial.push_back(entry);
    moves[static_cast<size_t>(entry.axis.value())] = false;
  }
  AxisId last;
  for (AxisId axis : InAtomOrder(moves, source, target)) {
    const size_t index = static_cast<size_t>(axis.value());
    const size_t before = static_cast<size_t>(last.value());
    if (problem.atoms.empty() || size != ProblemSize::kMerged || !Follows(from[before], from[index]) ||
        !Follows(to[before], to[index])) {
      problem.atoms.push_back({.axes = {}, .size = 1, .reduction = from[index].reduction});
    }
    problem.atoms.back().axes.push_back(axis);
    problem.atoms.back().size *= mesh.axis(axis).size;
    last = axis;
  }
  problem.source = Arrange(problem.atoms, from, source.dimensions.size());
  problem.target = Arrange(problem.atoms, to, source.dimensions.size());
  return problem;
}

Layout Problem::LayoutOf(const Arrangement& arrangement) const {
  Layout layout{.dimensions = fixed, .partial = fixed_partial};
  for (size_t d = 0; d < fixed.size(); ++d) {
    const std::vector<AxisId> axes = AxesOf(arrangement.dimensions[d]);
    layout.dimensions[d].insert(layout.dimensions[d].end(), axes.begin(), axes.end());
  }
  for (int atom : arrangement.partial) {
    const Atom& partial = atoms[static_cast<size_t>(atom)];
    for (AxisId axis : partial.axes) layout.partial.push_back({axis, partial.reduction});
  }
  std::sort(layout.partial.begin(), layout.partial.end(),
            [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; });
  return layout;
}

double Problem::LocalBytes(const Arrangement& arrangement) const {
  double bytes = static_cast<double>(ElementSize(type.dtype).value());
  for (size_t d = 0; d < fixed.size(); ++d) {
    bytes *=
        static_cast<double>(LargestPiece(type.shape[d], mesh.Size(fixed[d]) * CutCount(arrangement.dimensions[d])));
  }
  return bytes;
}

std::vector<int> Problem::ReplicatedAtoms(const Arrangement& arrangement) const {
  std::vector<bool> placed(atoms.size(), false);
  for (const std::vector<int>& dimension : arrangement.dimensions) {
    for (int atom : dimension) placed[static_cast<size_t>(atom)] = true;
  }
  for (int atom : arrangement.partial) placed[static_cast<size_t>(atom)] = true;
  std::vector<int> replicated;
  for (size_t i = 0; i < atoms.size(); ++i) {
    if (!placed[i]) replicated.push_back(static_cast<int>(i));
  }
  return replicated;
}

int64_t Problem::CutCount(const std::vector<int>& indexes) const {
  int64_t count = 1;
  for (int atom : indexes) count *= atoms[static_cast<size_t>(atom)].size;
  return count;
}

std::vector<AxisId> Problem::AxesOf(const std::vector<int>& indexes) const {
  std::vector<AxisId> axes;
  for (int atom : indexes) {
    const std::vector<AxisId>& more = atoms[static_cast<size_t>(atom)].axes;
    axes.insert(axes.end(), more.begin(), more.end());
  }
  return axes;
}

std::string Key(const Arrangement& arrangement) {
  std::string key;
  for (const std::vector<int>& dimension : arrangement.dimensions) {
    for (int atom : dimension) key.push_back(static_cast<char>(atom + 1));
    key.push_back('\0');
  }
  for (int atom : arrangement.partial) key.push_back(static_cast<char>(atom + 1));
  return key;
}

}  // namespace cleave
