// Which losses a step can compute in slices of their places, without logits of all of them.
//
//   logits = matmul(x, weight)                         batch x seq places, each with a number for every class
//   loss = cross_entropy(logits, label)
//   logits.grad = cross_entropy_gradient(logits, label, loss.grad)
//   x.grad = matmul(logits.grad, weight), weight.grad = matmul_sum(logits.grad, x)
//
// Of a run of places all five need no other places, apart from sums over all of them: the loss and weight.grad. And
// loss.grad is known before the loss. So each slice can be taken from x to its part of the gradients at once: its
// logits are there until then, and are computed once.
//
// Between the product and the loss there may be ops that compute each place by itself, such as a bias and a cap. What
// all these ops are follows from their rules.
//
// A graph says with the attribute `parts` of a cross_entropy in how many slices it is computed: 0 and 1 mean as a
// whole. Its meaning is the same; ir/transforms/distribute makes the slices.
#ifndef CLEAVE_IR_GRAPH_SLICED_LOSSES_SLICED_LOSSES_H_
#define CLEAVE_IR_GRAPH_SLICED_LOSSES_SLICED_LOSSES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::ir {

// What becomes of the values that an op has in the slices.
enum class SliceResult {
  kWithin,  // Only the same slice reads it: logits and their gradients.
  kJoined,  // Together they are the value: the gradient by x.
  kAdded,   // Their sum is: the gradient by the weight.
  kMean,    // Their mean is: the loss.
};

struct SlicedOp {
  OpId op;
  std::vector<int> places;  // For each dimension of the places the factor of the op's rule.
  SliceResult result = SliceResult::kWithin;

  bool operator==(const SlicedOp&) const = default;
};

struct SlicedLoss {
  OpId loss;                  // The cross_entropy.
  OpId logits;                // What it reads.
  std::vector<SlicedOp> ops;  // In program order.
  std::vector<OpId> earlier;  // What must be known before the first slice and is no part of it, in program order.

  bool operator==(const SlicedLoss&) const = default;
};

// Of the cross_entropy `loss` of a graph, or a clause that says why not: "`accuracy` reads the logits". REQUIRES:
// VerifyGraph finds no error.
std::variant<SlicedLoss, std::string> FindSlicedLoss(const Graph& graph, OpId loss);

// The dimension of a tensor that is `factor` alone; -1 where there is none.
int DimensionOf(int factor, const std::vector<FactorList>& dimensions);

// The attribute of a cross_entropy, in which 0 leaves the choice to the compiler.
int64_t PartsOf(const Op& loss);
// The graph in which these have as many parts. REQUIRES: they are cross_entropy.
Graph WithParts(Graph graph, const std::vector<std::pair<OpId, int64_t>>& parts);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_SLICED_LOSSES_SLICED_LOSSES_H_
