// Einsums of two tensors as products of matrices. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_EINSUM_PRODUCT_H_
#define CLEAVE_IR_GRAPH_OPS_EINSUM_PRODUCT_H_

#include <optional>

#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/tensor/formula/formula.h"

namespace cleave::ir {

// The einsum as one call of the matrix product, where all three tensors already lie as matrices: as [batch, rows,
// contracted] by [batch, contracted, columns], each of these being some neighbouring dimensions.
std::optional<KernelCall> DirectProduct(const Formula& formula);

// The bytes that the einsum copies before or after its product: none where all three tensors already lie as matrices,
// or where it is not a product of two tensors and is summed element by element.
Bytes EinsumCopies(const Formula& formula, Types inputs, const TensorType& output);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_EINSUM_PRODUCT_H_
