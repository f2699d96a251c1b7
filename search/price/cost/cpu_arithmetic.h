// The arithmetic of kernels on a CPU, which computes everything but products in loops of its own, and attention in
// tiles of its own.
//
//   Seconds softmax(CpuLoopFlops(definition, inputs, output, attributes).value() / cluster.peak.loops);
//
// The constants are those of bench/kernels on one core of an AMD EPYC (Zen 5, AVX-512), relative to its product of
// matrices of 512 rows: machines with slower products have slower loops. docs/cost.md has the formulas.
#ifndef CLEAVE_SEARCH_PRICE_COST_CPU_ARITHMETIC_H_
#define CLEAVE_SEARCH_PRICE_COST_CPU_ARITHMETIC_H_

#include "absl/types/span.h"
#include "base/units/units.h"
#include "ir/graph/ops/ops.h"
#include "ir/tensor/types/types.h"

namespace cleave::search {

// Operations of an op that is no product, on (local) tensors, as if all were done in vectors: more than its `flops`
// where functions of the C library keep a loop from being done in vectors, and where rows are short.
Flops CpuLoopFlops(const ir::OpDefinition& definition, absl::Span<const ir::TensorType> inputs,
                   const ir::TensorType& output, const ir::Attributes& attributes);

// The share of the rate of large products at which `flops` of attention on (local) tensors are done. REQUIRES:
// IsOfAttention(kind of the op).
double CpuAttentionEfficiency(absl::Span<const ir::TensorType> inputs, const ir::Attributes& attributes);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_CPU_ARITHMETIC_H_
