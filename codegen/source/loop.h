// What a fused loop does with one element, as statements. They are the same for every target, except for how elements
// of buffers are read and written.
//
//   h1_weight_momentum[i] = 0.9f * h1_weight_momentum[i] + h1_weight_grad[i];
//   h1_weight[i] -= h1_weight_momentum[i] * learning_rate;
#ifndef CLEAVE_CODEGEN_SOURCE_LOOP_H_
#define CLEAVE_CODEGEN_SOURCE_LOOP_H_

#include <functional>
#include <string>
#include <vector>

#include "codegen/source/emission.h"

namespace cleave::codegen {

// For each dimension of a loop's values: whether an operand has it.
using LoopSpan = std::vector<bool>;

// The index space of a loop: dimensions that are neighbours in memory, and that every operand has, or lacks, together
// are one axis. Where images lie in blocks of channels, the channels of a block are the last axis.
struct LoopShape {
  struct Axis {
    std::string index;
    SizeProduct size;
    size_t dimension = 0;  // One of those that it is made of.
  };
  std::vector<Axis> axes;
  size_t rank = 0;
  int64_t elements = 0;  // On the rank that has most.

  // For each axis whether an operand has it.
  std::vector<bool> AxesOf(const LoopSpan& span) const;
  LoopSpan All() const { return LoopSpan(rank, true); }

  // The place, in its own buffer, of the element of an operand: "i * 512 + j".
  cpp::Expr Index(const LoopSpan& span) const;
};
LoopShape ShapeOf(Emission& emission, const ir::FusedLoop& loop);

// Steps of the loop whose values are stored, in order.
std::vector<int> WritingSteps(const Emission& emission, absl::Span<const int> steps);

// The element of a value at the loop's place: what reads it and what writes it. When the same
// element is read and written, both are the same.
struct LoopElements {
  std::function<cpp::Expr(ir::ValueId value, const LoopSpan& span)> read;
  std::function<cpp::Expr(ir::ValueId value)> write;
  std::function<cpp::Expr(ir::ValueId value)> step_number;  // A number that differs between steps.
  // Names for constants: one for a value that is not in memory, and one for a part of an expression, the value's.
  std::function<std::string(ir::ValueId value)> local;
  std::function<std::string(ir::ValueId value)> term;
};

// Writes the statements. Values that only the loop uses become local constants, or part of the expression that uses
// them. Arithmetic is in f32, whatever the numbers are stored as.
void EmitLoopBody(Emission& emission, const ir::FusedLoop& loop, const LoopElements& elements, cpp::Code& code);

// "written over x": which values, read here for the last time, the results of a stage's steps replace in memory; empty
// if none. Where there are several results they are named: "y over x".
std::string InPlaceText(const Emission& emission, absl::Span<const int> steps);

// The lines for the watch about the values that a loop writes, without the first.
void WatchOtherResults(Emission& emission, const std::vector<int>& writing_steps, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_LOOP_H_
