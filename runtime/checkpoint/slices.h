// Private to runtime/checkpoint: which rank writes what.
#ifndef CLEAVE_RUNTIME_CHECKPOINT_SLICES_H_
#define CLEAVE_RUNTIME_CHECKPOINT_SLICES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// The values of a slice have a digest for each block of so many bytes.
constexpr int64_t kBlockBytes = int64_t{4} << 20;

// A tensor that each rank has for itself is one whole with a dimension more, of the ranks.
TensorLayout StoredLayout(const TensorLayout& layout, const Mesh& mesh);

// The part of a tensor that a rank writes; nullopt where it writes none. `layout`: as it is stored.
//
// Of the replicas of a piece with `bytes` bytes and `rows` elements along its first dimension (1 for a scalar), as many
// write it as it has 64 KiB, at least one and at most `rows`: each an equal part of the rows. So small tensors are in
// one file and large ones are written by all. Each element is written once.
std::optional<Region> SliceOf(const TensorLayout& layout, const Mesh& mesh, int64_t rank);

// What two regions of one tensor share; nullopt for nothing.
std::optional<Region> Common(const Region& a, const Region& b);
// `inner` in the coordinates of `outer`, which contains it.
Region Within(const Region& inner, const Region& outer);

std::string ShardName(int64_t rank);  // "rank_3.safetensors"

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHECKPOINT_SLICES_H_
