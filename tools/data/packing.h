// Private to tools/data: which samples share a row.
//
// Best fit decreasing: the samples from the longest to the shortest, each into the row in which the least room would be
// left. (Ding et al., Fewer Truncations Improve Language Modeling, ICML 2024, section 3.) It needs at most 11/9 of the
// fewest possible rows and 4 more (Johnson et al., Worst-Case Performance Bounds for Simple One-Dimensional Packing
// Algorithms, 1974). n samples and rows of m places take O(n log n + n log m).
#ifndef CLEAVE_TOOLS_DATA_PACKING_H_
#define CLEAVE_TOOLS_DATA_PACKING_H_

#include <cstdint>
#include <vector>

namespace cleave::tools {

// Rows of samples, each once, whose lengths are together at most `room`. The samples of a row are in their order, and
// the rows in that of their first samples. REQUIRES: each length is from 1 to `room`.
std::vector<std::vector<uint32_t>> PackBestFit(const std::vector<uint32_t>& lengths, uint32_t room);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_PACKING_H_
