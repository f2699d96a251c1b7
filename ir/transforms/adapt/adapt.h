// Adapters: weights that stay as they are, and changes of a low rank beside them that are trained (Hu and others, LoRA,
// 2021).
//
//   y = x W^T  ->  y = x W^T + factor (x A^T) B^T        W [out, in], A [rank, in], B [out, rank]
//
// `W_lora_a` and `W_lora_b` lie as W does: of a weight [in, out] they are [in, rank] and [rank, out]. A begins uniform
// in +-1 / sqrt(in), as PEFT's, and B with zeros, so that the model begins unchanged. With dropout the change reads
// dropped inputs.
//
// With a magnitude (Liu and others, DoRA, 2024) each output has a factor g, and y is g (x W^T + factor (x A^T) B^T):
//   g = (|W| + W_lora_magnitude) / |W + factor B A|,     norms over the inputs of each output
// `W_lora_magnitude` [out] begins with zeros: it is what training adds to the norm of W. No gradient passes the norm
// below the line, as section 4.3 has it. As in PEFT a dropout is of what g changes too:
//   y = x W^T + (g - 1) d W^T + g factor (d A^T) B^T,    d = dropout(x)
//
// What is made are ordinary ops, in the passes of the product that they stand beside.
#ifndef CLEAVE_IR_TRANSFORMS_ADAPT_ADAPT_H_
#define CLEAVE_IR_TRANSFORMS_ADAPT_ADAPT_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/adapters.h"

namespace cleave::ir {

// The parameters of an adapter, by their ids in the adapted graph; `weight` is that in the given one.
struct AdaptedWeight {
  OpId weight;
  std::vector<OpId> parameters;
};

// A product of the given graph, and the ops of the adapted one that stand beside it; sources are none of them.
struct AdaptedProduct {
  OpId product;
  std::vector<OpId> made;
};

struct Adapted {
  Graph graph;
  IdVector<OpId, OpId> places;  // Of each op of the given graph.
  IdVector<OpId, OpId> values;  // What is read instead of it: of a product the sum with the change.
  std::vector<AdaptedWeight> weights;
  std::vector<AdaptedProduct> products;
};

// Why a parameter can have no adapter: "is read by `x.embedding`, line 4, which is no product of matrices".
struct AdaptProblem {
  OpId weight;
  std::string why;
};

// Gives each of these parameters an adapter. They are read by products with other values alone (`matmul`, `einsum` of
// two tensors), transposed or not, and have two dimensions above the rank; else the problems of all of them come back.
// REQUIRES: `forward` is what the frontend makes of a model, and each weight is a parameter, named once.
std::variant<Adapted, std::vector<AdaptProblem>> Adapt(const Graph& forward, const AdapterForm& form,
                                                       const std::vector<OpId>& weights);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_ADAPT_ADAPT_H_
