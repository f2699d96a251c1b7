// Einsums that are matrix products. Inside of runtime/einsum only.
#ifndef CLEAVE_RUNTIME_EINSUM_PRODUCT_H_
#define CLEAVE_RUNTIME_EINSUM_PRODUCT_H_

#include <vector>

#include "runtime/einsum/formula.h"

namespace cleave::runtime {

// Computes the einsum as one batched matrix product and returns true, or returns false where it is no such product. It
// is one when it has two inputs without diagonals, every index stands in at least two of the three tensors, an index is
// summed over, and the result shares an index with one input only. Inputs and results are reordered where necessary.
bool MultiplyAsMatrices(const IndexedFormula& formula, const std::vector<EinsumInput>& inputs, Reals result);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_EINSUM_PRODUCT_H_
