// Einsums as loops over the indexes of the result, and inside of them loops over those that are summed over. Inside of
// runtime/einsum only.
#ifndef CLEAVE_RUNTIME_EINSUM_NEST_H_
#define CLEAVE_RUNTIME_EINSUM_NEST_H_

#include <cstdint>
#include <vector>

#include "runtime/einsum/formula.h"

namespace cleave::runtime {

// Loops over some indexes, the last innermost: their sizes, and the strides of every input.
struct Nest {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides;  // [index][input]
};

struct Loops {
  Nest kept;                            // Over the indexes of the result, neighbours last. At least one.
  std::vector<int64_t> result_strides;  // Of each of them.
  Nest summed;                          // Over the others, the longest last. At least one.
};
Loops LoopsOf(IndexedFormula formula);

// result[...] = the sum of products, where the inputs and the result begin with the first elements that are meant.
// Where the result has a diagonal, the caller has filled the rest with zeros. A program links one of the
// implementations, runtime/einsum/cpu or runtime/einsum/cuda.
void SumByResult(const IndexedFormula& formula, const std::vector<EinsumInput>& inputs, float* result);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_EINSUM_NEST_H_
