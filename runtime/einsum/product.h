// Einsums that are matrix products. Inside of runtime/einsum only.
#ifndef CLEAVE_RUNTIME_EINSUM_PRODUCT_H_
#define CLEAVE_RUNTIME_EINSUM_PRODUCT_H_

#include <vector>

#include "runtime/einsum/formula.h"

namespace cleave::runtime {

// Computes the einsum as one batched matrix product, with inputs and result brought into order where they are not, and
// returns true; false where it is none: two inputs without diagonals, every index in at least two of the three tensors,
// one that is summed over, and one that the result shares with one input only.
bool MultiplyAsMatrices(const IndexedFormula& formula, const std::vector<EinsumInput>& inputs, float* result);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_EINSUM_PRODUCT_H_
