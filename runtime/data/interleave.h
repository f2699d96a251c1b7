// Private to runtime/data: several rows of samples as one.
#ifndef CLEAVE_RUNTIME_DATA_INTERLEAVE_H_
#define CLEAVE_RUNTIME_DATA_INTERLEAVE_H_

#include <cstdint>
#include <vector>

namespace cleave::runtime {

// For each place of a row that has `counts[i]` samples of row i the number i: every row is spread evenly, sample j of
// n at (j + 1/2) / n, and of equal ones the first row is before. Takes time in the samples times the logarithm of the
// rows.
std::vector<uint32_t> Interleaved(const std::vector<int64_t>& counts);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_INTERLEAVE_H_
