// Other orders of the values of a tensor, row-major.
#ifndef CLEAVE_TOOLS_WEIGHTS_REARRANGE_H_
#define CLEAVE_TOOLS_WEIGHTS_REARRANGE_H_

#include <cstdint>
#include <vector>

namespace cleave::tools {

// From (rows, columns) to (columns, rows). REQUIRES: values.size() == rows * columns.
std::vector<float> Transposed(const std::vector<float>& values, int64_t rows, int64_t columns);

// From (outer, inner, block) to (inner, outer, block). REQUIRES: outer * inner divides values.size().
std::vector<float> Swapped(const std::vector<float>& values, int64_t outer, int64_t inner);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_REARRANGE_H_
