// Which factor of a forward op each factor of its gradient ops stands for. Private to ir/transforms/differentiate.
//
// The dimensions of the forward op's inputs and output are labelled with its factors. A gradient op's factors take the
// labels of the dimensions in which they stand, and label the other dimensions in which they stand in turn. In the
// gradient of y[i, j] = a[i, k] b[k, j] by a, matmul(dy, b transposed), dy is labelled i j and b k j: its rows are i,
// its columns k, and its contracted factor is j.
#ifndef CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_INHERIT_H_
#define CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_INHERIT_H_

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/ops/rule_table.h"

namespace cleave::ir {

// The ops that the gradient function of one op has made.
struct GradientOps {
  OpId forward;
  OpId output_gradient;                        // The gradient that was given to it.
  OpId first, end;                             // The ops from the first one up to the end were made.
  std::vector<std::optional<OpId>> gradients;  // By input.
};

// Sets Op::inherits of the ops that `made` names. `rules`: of ops of graphs.
void SetInheritance(Graph& graph, const GradientOps& made, RuleTable& rules);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_INHERIT_H_
