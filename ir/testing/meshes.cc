#include "ir/testing/meshes.h"

#include <string>
#include <utility>

namespace cleave::ir {

Mesh MeshOf(const std::vector<int64_t>& sizes, const std::vector<double>& weights) {
  std::vector<MeshAxis> axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    axes.push_back({.name = "m" + std::to_string(i), .size = sizes[i], .weight = weights.empty() ? 1 : weights[i]});
  }
  return *Mesh::Create(std::move(axes));
}

}  // namespace cleave::ir
