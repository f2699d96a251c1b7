// The rank's place in the device mesh, and which elements of a dimension it holds.
//
//   const Mesh mesh = {{"m0", 2}, {"m1", 2}, {"m2", 2}};
//   Coordinates(mesh, 5)            == {1, 0, 1}
//   IndexOnAxes(mesh, 5, {0, 2})    == 3                  // Coordinates (1, 1) on axes of sizes 2 and 2.
//   Piece(10, 4, 3)                 == {.begin = 7, .size = 3}
//   PieceSizes(10, 4)               == {2, 3, 2, 3}
//
// One convention everywhere: a dimension of d elements cut n ways gives piece i the elements floor(i*d/n) up to
// floor((i+1)*d/n). Pieces may be empty.
#ifndef CLEAVE_RUNTIME_MESH_MESH_H_
#define CLEAVE_RUNTIME_MESH_MESH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave::runtime {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

// Axes, outermost first; ranks are numbered row-major over them. No axes: one rank.
using Mesh = std::vector<MeshAxis>;

int64_t MeshSize(const Mesh& mesh);
std::vector<int64_t> Coordinates(const Mesh& mesh, int64_t rank);

// Row-major index of the rank's coordinates on the given axes, in the order given; 0 for no axes.
int64_t IndexOnAxes(const Mesh& mesh, int64_t rank, const std::vector<int>& axes);

// The rank that differs from `rank` only on `axes`, where it has the row-major index `index`.
int64_t RankAt(const Mesh& mesh, int64_t rank, const std::vector<int>& axes, int64_t index);

struct Range {
  int64_t begin = 0;
  int64_t size = 0;
};

// REQUIRES: elements < 2^53, pieces < 2^31.
inline Range Piece(int64_t elements, int64_t pieces, int64_t index) {
  // floor(i * elements / pieces), without computing the product, which may need more than 64 bits.
  const auto bound = [=](int64_t i) { return i * (elements / pieces) + i * (elements % pieces) / pieces; };
  const int64_t begin = bound(index);
  return {begin, bound(index + 1) - begin};
}

// A dimension that is read in windows: a rank that works on elements [b, e) of an outer dimension (the output rows of a
// convolution) reads elements floor((b * numerator + first) / denominator) up to and including
// floor(((e - 1) * numerator + last) / denominator) of this one, as far as they exist.
struct Window {
  int64_t elements = 1;
  int64_t outer = 1;
  int64_t numerator = 1;
  int64_t denominator = 1;
  int64_t first = 0;
  int64_t last = 0;

  Range Of(const Range& piece) const;
};

// Sizes of `count` consecutive pieces from piece `first`: what the members of a group hold when their axes are the last
// ones that cut the dimension.
std::vector<int64_t> PieceSizes(int64_t elements, int64_t pieces, int64_t first, int64_t count);
inline std::vector<int64_t> PieceSizes(int64_t elements, int64_t pieces) {
  return PieceSizes(elements, pieces, 0, pieces);
}

// The part of a tensor that a rank holds: per dimension the elements [begin, begin + size) of `shape`.
struct Region {
  std::vector<int64_t> shape;  // Of the whole tensor; empty for a scalar.
  std::vector<int64_t> begin;
  std::vector<int64_t> size;
};

Region WholeRegion(std::vector<int64_t> shape);
int64_t ElementCount(const std::vector<int64_t>& shape);   // 1 for a scalar.
std::string ShapeText(const std::vector<int64_t>& shape);  // "[64, 32]"

// For each dimension the axes that cut it, major first; dimensions at the end that are not cut may be left out.
using MeshAxes = std::vector<std::vector<int>>;

// The ranks with one coordinate on an axis: those of a stage of a pipeline.
struct Stage {
  int axis = 0;
  int64_t index = 0;
};

// How a tensor lies on a mesh.
struct TensorLayout {
  std::vector<int64_t> shape;  // Of the whole tensor; empty for a scalar.
  MeshAxes axes = {};
  bool is_local = false;            // Each rank has a tensor of its own, which is not cut.
  std::optional<Stage> stage = {};  // Whose ranks hold it; nullopt: all do.
};
// Whether the rank holds a part of the tensor.
bool IsHeldBy(const TensorLayout& layout, const Mesh& mesh, int64_t rank);
// REQUIRES: IsHeldBy.
Region RegionOf(const TensorLayout& layout, const Mesh& mesh, int64_t rank);

// The ranks that hold the same piece of a tensor are its replicas, numbered row-major over the axes that do not cut it.
// A rank that holds nothing of a tensor has the number of the rank in its place that does.
struct Replica {
  int64_t index = 0;
  int64_t count = 1;
};
Replica ReplicaOf(const TensorLayout& layout, const Mesh& mesh, int64_t rank);

// Calls visit(global_index, local_index, count) for every run of elements that is contiguous in both the whole tensor
// and the local piece (both row-major), in ascending order.
template <typename Visit>
void ForEachRun(const Region& region, Visit visit) {
  const size_t rank = region.shape.size();
  if (ElementCount(region.size) == 0) return;
  if (rank == 0) return visit(int64_t{0}, int64_t{0}, int64_t{1});
  std::vector<int64_t> position(rank, 0);
  const int64_t run = region.size[rank - 1];
  for (int64_t local = 0;; local += run) {
    int64_t global = 0;
    for (size_t i = 0; i < rank; ++i) global = global * region.shape[i] + region.begin[i] + position[i];
    visit(global, local, run);
    size_t dimension = rank - 1;
    while (dimension > 0 && ++position[dimension - 1] == region.size[dimension - 1]) position[--dimension] = 0;
    if (dimension == 0) return;
  }
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MESH_MESH_H_
