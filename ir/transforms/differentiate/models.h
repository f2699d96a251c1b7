// Small forward graphs for the tests of this crate.
#ifndef CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_MODELS_H_
#define CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_MODELS_H_

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace cleave::ir {

// Two dense layers with weights stored transposed, cross entropy and accuracy.
Graph MlpGraph();

// Tokens through a table that is also the last matrix, layer_norm, and causal attention with two heads.
Graph AttentionGraph();

// Broadcasting, reductions, slices and concatenation on the way from two parameters to an mse.
Graph MixedGraph();

// Convolutions with stride, padding and groups, and both poolings, on images, followed by a matrix product.
Graph ImageGraph();

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_MODELS_H_
