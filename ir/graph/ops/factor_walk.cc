#include "ir/graph/ops/factor_walk.h"

namespace cleave::ir {

std::vector<int64_t> FactorStrides(const std::vector<FactorList>& dimensions, absl::Span<const FactorRange> ranges) {
  std::vector<int64_t> strides(ranges.size(), 0);
  int64_t stride = 1;
  for (auto dimension = dimensions.rbegin(); dimension != dimensions.rend(); ++dimension) {
    for (auto factor = dimension->rbegin(); factor != dimension->rend(); ++factor) {
      strides[static_cast<size_t>(*factor)] += stride;
      stride *= ranges[static_cast<size_t>(*factor)].size;
    }
  }
  return strides;
}

int64_t OffsetOf(const std::vector<int64_t>& index, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

}  // namespace cleave::ir
