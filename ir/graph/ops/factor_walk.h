// Walking over the elements of local tensors factor by factor, as reference evaluations of index formulas do.
// Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_FACTOR_WALK_H_
#define CLEAVE_IR_GRAPH_OPS_FACTOR_WALK_H_

#include <vector>

#include "ir/graph/ops/ops.h"

namespace cleave::ir {

// For each factor of a rule the distance between neighbours in a row-major local tensor; 0 if the tensor does not have
// the factor.
std::vector<int64_t> FactorStrides(const std::vector<FactorList>& dimensions, absl::Span<const FactorRange> ranges);

// Sum of index times stride.
int64_t OffsetOf(const std::vector<int64_t>& index, const std::vector<int64_t>& strides);

// Calls visit() with every combination of local indexes of `factors`, the last fastest; those of other factors stay as
// they are in `index`. Once for no factors, never where one has no elements.
template <typename Visit>
void ForEachIndex(const std::vector<int>& factors, absl::Span<const FactorRange> ranges, std::vector<int64_t>& index,
                  Visit visit) {
  for (const int factor : factors) {
    if (ranges[static_cast<size_t>(factor)].size == 0) return;
    index[static_cast<size_t>(factor)] = 0;
  }
  while (true) {
    visit();
    size_t place = factors.size();
    while (place > 0) {
      const auto factor = static_cast<size_t>(factors[place - 1]);
      if (++index[factor] < ranges[factor].size) break;
      index[factor] = 0;
      --place;
    }
    if (place == 0) return;
  }
}

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_FACTOR_WALK_H_
