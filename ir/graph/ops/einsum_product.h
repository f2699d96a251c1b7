// Einsums of two tensors as products of matrices. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_EINSUM_PRODUCT_H_
#define CLEAVE_IR_GRAPH_OPS_EINSUM_PRODUCT_H_

#include <optional>

#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/tensor/formula/formula.h"

namespace cleave::ir {

// Whether the einsum is a batch of products of two matrices, but for the order of dimensions: it has two inputs without
// diagonals, every index stands in at least two of the three tensors, some are summed over, and the result shares an
// index with one input only. All others are sums element by element.
bool IsProductOfMatrices(const Formula& formula);

// The einsum as one call of the matrix product, where all three tensors already lie as matrices: as [batch, rows,
// contracted] by [batch, contracted, columns], each of these being some neighbouring dimensions.
std::optional<KernelCall> DirectProduct(const Formula& formula);

// The bytes that the einsum copies before or after its product: none where all three tensors already lie as matrices,
// or where it is no product of matrices.
Bytes EinsumCopies(const Formula& formula, Types inputs, const TensorType& output);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_EINSUM_PRODUCT_H_
