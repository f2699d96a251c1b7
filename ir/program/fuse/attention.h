// Attention in a program: its ops that run as one call. The result and the statistics of its rows are computed
// together, and so are its gradients, where ranks have cut them alike.
//
//   attention, attention_logsumexp                                                             forward
//   attention_gradient_value, attention_gradient_query, attention_gradient_key, .._bias        backward
#ifndef CLEAVE_IR_PROGRAM_FUSE_ATTENTION_H_
#define CLEAVE_IR_PROGRAM_FUSE_ATTENTION_H_

#include <optional>
#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// Whether it is one of these ops, which run as such pieces only.
bool IsOfAttention(OpKind kind);

// What both directions read.
struct AttentionInputs {
  ValueId q;
  ValueId k;
  std::optional<ValueId> v;          // nullopt: not read.
  std::optional<ValueId> bias = {};  // By distance.
  std::vector<ValueId> ranges = {};  // First and end of what each query sees; empty where there are none.

  bool operator==(const AttentionInputs&) const = default;
};

// `steps`: indexes into Program::steps, ascending, all of one phase; all ops have the same attributes. The piece runs
// at the place of one of them, which all that it reads is written before and no reader of its results stands before.
struct AttentionForward {
  std::vector<int> steps;
  int place = 0;
  AttentionInputs inputs;
  std::optional<ValueId> output;
  std::optional<ValueId> logsumexp;

  bool operator==(const AttentionForward&) const = default;
};
struct AttentionBackward {
  std::vector<int> steps;
  int place = 0;
  AttentionInputs inputs;
  std::optional<ValueId> output;  // nullopt: not read, because the gradient by the values alone is wanted.
  ValueId logsumexp;
  ValueId output_gradient;
  std::optional<ValueId> q_gradient;
  std::optional<ValueId> k_gradient;
  std::optional<ValueId> v_gradient;
  std::optional<ValueId> bias_gradient = {};

  bool operator==(const AttentionBackward&) const = default;
};

struct Attention {
  std::vector<AttentionForward> forward;
  std::vector<AttentionBackward> backward;
};

// Every op of attention is in one piece. Each list is ordered by the first step. Linear in steps.
Attention FindAttention(const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_FUSE_ATTENTION_H_
