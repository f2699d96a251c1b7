#include "runtime/checkpoint/slices.h"

#include <algorithm>

namespace cleave::runtime {
namespace {

constexpr int64_t kBytesOfWriter = int64_t{64} << 10;

}  // namespace

TensorLayout StoredLayout(const TensorLayout& layout, const Mesh& mesh) {
  if (!layout.is_local) return layout;
  TensorLayout stored = {layout.shape, {{}}};
  stored.shape.insert(stored.shape.begin(), MeshSize(mesh));
  for (size_t axis = 0; axis < mesh.size(); ++axis) stored.axes[0].push_back(static_cast<int>(axis));
  return stored;
}

std::optional<Region> SliceOf(const TensorLayout& layout, const Mesh& mesh, int64_t rank) {
  if (!IsHeldBy(layout, mesh, rank)) return std::nullopt;
  Region slice = RegionOf(layout, mesh, rank);
  const Replica replica = ReplicaOf(layout, mesh, rank);
  const int64_t bytes = ElementCount(slice.size) * static_cast<int64_t>(sizeof(float));
  if (bytes == 0) return std::nullopt;
  const int64_t rows = slice.size.empty() ? 1 : slice.size[0];
  const int64_t writers = std::max<int64_t>(1, std::min({bytes / kBytesOfWriter, replica.count, rows}));
  if (replica.index >= writers) return std::nullopt;
  if (slice.size.empty()) return slice;
  const Range mine = Piece(rows, writers, replica.index);
  slice.begin[0] += mine.begin;
  slice.size[0] = mine.size;
  return slice;
}

std::optional<Region> Common(const Region& a, const Region& b) {
  Region common = a;
  for (size_t d = 0; d < a.shape.size(); ++d) {
    common.begin[d] = std::max(a.begin[d], b.begin[d]);
    common.size[d] = std::min(a.begin[d] + a.size[d], b.begin[d] + b.size[d]) - common.begin[d];
    if (common.size[d] <= 0) return std::nullopt;
  }
  return common;
}

Region Within(const Region& inner, const Region& outer) {
  Region within = {outer.size, inner.begin, inner.size};
  for (size_t d = 0; d < within.begin.size(); ++d) within.begin[d] -= outer.begin[d];
  return within;
}

std::string ShardName(int64_t rank) { return "rank_" + std::to_string(rank) + ".safetensors"; }

}  // namespace cleave::runtime
