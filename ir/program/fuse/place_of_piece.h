// Where steps that run as one piece stand in the program.
#ifndef CLEAVE_IR_PROGRAM_FUSE_PLACE_OF_PIECE_H_
#define CLEAVE_IR_PROGRAM_FUSE_PLACE_OF_PIECE_H_

#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ir/program/program.h"

namespace cleave::ir {

// Who reads and writes the values of a program, as indexes into Program::steps.
class PlacesOfPieces {
 public:
  explicit PlacesOfPieces(const Program& program);

  // The steps that read the value, in order.
  const absl::InlinedVector<int, 4>& ReadersOf(ValueId value) const { return readers_[value]; }

  // The step that writes the value; -1 for none.
  int WriterOf(ValueId value) const { return writer_[value]; }

  // Whether both run in the same passes of a step.
  bool RunTogether(int a, int b) const;

  // Whether `b` is of the backward pass that belongs to the forward pass of `a`: of the same micro-batch and stage.
  bool RunsBackwardOf(int a, int b) const;

  // Where these computes, in ascending order, can run as one piece: at the place of the last of them that stands before
  // all other readers of their values. What later ones read must be written before it; nullopt where it is not.
  std::optional<int> PlaceOf(const std::vector<int>& steps) const;

 private:
  const Program& program_;
  IdVector<ValueId, absl::InlinedVector<int, 4>> readers_;
  IdVector<ValueId, int> writer_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_FUSE_PLACE_OF_PIECE_H_
