// Ops that one call of the runtime computes together, because they read the same tensors or the results of each other:
// an op with its companions, as the op table says (OpDefinition::companions).
//
//   y.grad_x, y.scale.grad, y.shift.grad       of layer_norm: one call reads the gradient by y, and x, once
//   b.f32, sum = a + b.f32, layer_norm(sum)    one call writes the sum and the norm
//   y.grad_x, total = r + y.grad_x, total.bf16 one call writes the total in both types
//   h1.matmul, h1.bias_add                     a product adds its bias
//   up.matmul, up.bias_add, down.gelu          its epilogue also computes gelu
//   w.grad, bias.grad                          the product that reads a gradient also adds up its rows
//   loss, logits.grad                          a cross-entropy writes its gradient over the logits
//   x.largest, x.unit                          the unit of a tensor of 8 bits alone is written
//
// Which of them a call computes follows from the program: ops whose inputs a rank holds in other layouts read other
// values, and those of another phase or pass run at another time. A gradient is computed in the forward pass where the
// op table lets it (Companion::comes_early), all that it reads is known there, or is a number that can be made there
// (a scale of the loss), and nothing else reads what it is written over from then on: metrics, looks, or a pass that
// computes the logits again.
#ifndef CLEAVE_IR_PROGRAM_FUSE_JOINT_CALLS_H_
#define CLEAVE_IR_PROGRAM_FUSE_JOINT_CALLS_H_

#include <optional>
#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// What the matrix products of a target compute besides the product. A relu is a loop: that of the libraries makes 0 of
// a NaN.
enum class Epilogues {
  kBias,
  // Also the sums of a factor's rows, gelu and its gradient, these where each rank has rows of a multiple of 8
  // elements, as cuBLASLt does.
  kAll,
};

// `steps`: indexes into Program::steps, ascending, all of one phase but for those that come early. The call is made at
// the place of one of them, which all that it reads is written before and no reader of its results stands before.
struct JointCall {
  std::vector<int> steps;
  int place = 0;
  int op = 0;                                  // The step whose call it is.
  std::vector<std::optional<int>> companions;  // Their steps, by OpDefinition::companions of that op.
  // With a companion that comes early: steps of the backward pass that make numbers which it reads, in order. They run
  // right before the call.
  std::vector<int> ahead = {};

  bool operator==(const JointCall&) const = default;
};

// The calls of ops with at least one companion, those of ops with more of them first, then by the step of the op. No
// step is in two of them. What a product does besides, other than adding a bias, is left where the product itself is
// added to another value, or where it would part a loop. Linear in steps and in readers of what ops with companions
// read and give.
std::vector<JointCall> FindJointCalls(const Program& program, Epilogues epilogues = Epilogues::kBias);

// Which tensor of the call (OpDefinition::companions) input `input` of one of its steps is.
int TensorOf(const Program& program, const JointCall& call, int step, int input);

// The tensors of the call over which it may write the value of one of its steps.
std::vector<int> OverwrittenBy(const Program& program, const JointCall& call, int step);

// The value that is this tensor of the call, one of its inputs or results; nullopt: none of its ops has it.
std::optional<ValueId> ValueOf(const Program& program, const JointCall& call, int tensor);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_FUSE_JOINT_CALLS_H_
