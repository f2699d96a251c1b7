// Attention in a program: the steps from the product of queries and keys to the product of weights and values, and the
// steps of its gradient. A target that computes them as one piece stores neither the scores nor the weights.
//
//   scores.matmul, scores.scale, weights.causal_mask, weights.softmax, mixed.matmul           forward
//   two matmuls, softmax_gradient, causal_mask, scale, two matmuls                            backward
//
// Casts may stand between any of them; scale and mask may be missing. Attention is found only where whole rows of
// scores are on a rank and nothing else reads what lies inside; the same must be true of the gradient if there is one.
//
// The phase of the steps does not matter: where the backward pass computes scores and weights again, these copies
// belong to a forward piece in the backward phase if it computes the second product again too, and else to the backward
// piece, which needs neither scores nor weights.
#ifndef CLEAVE_IR_PROGRAM_FUSE_ATTENTION_H_
#define CLEAVE_IR_PROGRAM_FUSE_ATTENTION_H_

#include <optional>
#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// What both directions read: q [.., rows, head], k and v [.., columns, head], of one element type and local.
struct AttentionInputs {
  ValueId q;
  ValueId k;
  ValueId v;
  ValueId scores;  // The product of q and k: [.., rows, columns]. Not in memory.
  double scale = 1;
  bool causal = false;

  bool operator==(const AttentionInputs&) const = default;
};

// `steps`: indexes into Program::steps, ascending, all of one phase. The piece runs at the place of one of them, which
// all that it reads is written before and no reader of its results stands before.
struct AttentionForward {
  std::vector<int> steps;
  int place = 0;
  AttentionInputs inputs;
  ValueId output;

  bool operator==(const AttentionForward&) const = default;
};
struct AttentionBackward {
  std::vector<int> steps;
  int place = 0;
  AttentionInputs inputs;
  ValueId output_gradient;
  ValueId q_gradient;
  ValueId k_gradient;
  ValueId v_gradient;

  bool operator==(const AttentionBackward&) const = default;
};

// One of the two, or both.
struct Attention {
  std::optional<AttentionForward> forward;
  std::optional<AttentionBackward> backward;

  bool operator==(const Attention&) const = default;
};

// In program order; no two share a step. Heads have at most `largest_head` elements. Linear in steps.
std::vector<Attention> FindAttention(const Program& program, int64_t largest_head);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_FUSE_ATTENTION_H_
