#include "runtime/mesh/mesh.h"

#include <algorithm>
#include <utility>

namespace cleave::runtime {
namespace {

// The difference in rank between two neighbours on `axis`.
int64_t Stride(const Mesh& mesh, int axis) {
  int64_t stride = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < mesh.size(); ++i) stride *= mesh[i].size;
  return stride;
}

}  // namespace

int64_t MeshSize(const Mesh& mesh) {
  int64_t size = 1;
  for (const MeshAxis& axis : mesh) size *= axis.size;
  return size;
}

std::vector<int64_t> Coordinates(const Mesh& mesh, int64_t rank) {
  std::vector<int64_t> coordinates(mesh.size());
  for (size_t i = mesh.size(); i-- > 0;) {
    coordinates[i] = rank % mesh[i].size;
    rank /= mesh[i].size;
  }
  return coordinates;
}

int64_t IndexOnAxes(const Mesh& mesh, int64_t rank, const std::vector<int>& axes) {
  const std::vector<int64_t> coordinates = Coordinates(mesh, rank);
  int64_t index = 0;
  for (int axis : axes) index = index * mesh[static_cast<size_t>(axis)].size + coordinates[static_cast<size_t>(axis)];
  return index;
}

int64_t RankAt(const Mesh& mesh, int64_t rank, const std::vector<int>& axes, int64_t index) {
  const std::vector<int64_t> coordinates = Coordinates(mesh, rank);
  for (size_t i = axes.size(); i-- > 0;) {
    const int axis = axes[i];
    const int64_t size = mesh[static_cast<size_t>(axis)].size;
    rank += (index % size - coordinates[static_cast<size_t>(axis)]) * Stride(mesh, axis);
    index /= size;
  }
  return rank;
}

Range Window::Of(const Range& piece) const {
  if (piece.size == 0) return {0, 0};
  const auto floor_divide = [](int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); };
  const int64_t last_piece = piece.begin + piece.size - 1;
  const int64_t begin = std::max<int64_t>(floor_divide(piece.begin * numerator + first, denominator), 0);
  const int64_t end = std::min(floor_divide(last_piece * numerator + last, denominator) + 1, elements);
  return begin < end ? Range{begin, end - begin} : Range{0, 0};
}

std::vector<int64_t> PieceSizes(int64_t elements, int64_t pieces, int64_t first, int64_t count) {
  std::vector<int64_t> sizes(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) sizes[static_cast<size_t>(i)] = Piece(elements, pieces, first + i).size;
  return sizes;
}

Region WholeRegion(std::vector<int64_t> shape) {
  return {shape, std::vector<int64_t>(shape.size(), 0), std::move(shape)};
}

int64_t ElementCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) text += (d > 0 ? ", " : "") + std::to_string(shape[d]);
  return text + "]";
}

bool IsHeldBy(const TensorLayout& layout, const Mesh& mesh, int64_t rank) {
  return !layout.stage.has_value() || IndexOnAxes(mesh, rank, {layout.stage->axis}) == layout.stage->index;
}

Region RegionOf(const TensorLayout& layout, const Mesh& mesh, int64_t rank) {
  Region region = WholeRegion(layout.shape);
  for (size_t d = 0; d < layout.axes.size(); ++d) {
    int64_t pieces = 1;
    for (const int axis : layout.axes[d]) pieces *= mesh[static_cast<size_t>(axis)].size;
    const Range piece = Piece(layout.shape[d], pieces, IndexOnAxes(mesh, rank, layout.axes[d]));
    region.begin[d] = piece.begin;
    region.size[d] = piece.size;
  }
  return region;
}

Replica ReplicaOf(const TensorLayout& layout, const Mesh& mesh, int64_t rank) {
  if (layout.is_local) return {};
  std::vector<bool> cuts(mesh.size(), false);
  for (const std::vector<int>& axes : layout.axes) {
    for (const int axis : axes) cuts[static_cast<size_t>(axis)] = true;
  }
  std::vector<int> others;
  Replica replica;
  for (size_t axis = 0; axis < mesh.size(); ++axis) {
    if (cuts[axis] || (layout.stage.has_value() && layout.stage->axis == static_cast<int>(axis))) continue;
    others.push_back(static_cast<int>(axis));
    replica.count *= mesh[axis].size;
  }
  replica.index = IndexOnAxes(mesh, rank, others);
  return replica;
}

}  // namespace cleave::runtime
