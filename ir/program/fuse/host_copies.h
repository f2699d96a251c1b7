// How long copies between the memory of a device and that of its host (HostCopy) hold memory of the device.
//
// Copies run one after another beside other stages, and stand behind the last reader, or in front of the first one.
// What is copied out holds its memory up to the stage in front of the last reader of what is copied out next, and what
// is copied back has its memory from the stage behind the first reader of what was copied back before. So equal layers
// that let one value each wait need memory for two of them at a time.
//
// A target that runs copies beside other work waits for each of them before their memory is used in another way
// (codegen/source/overlap.h): how long it is held here decides how much time copies have, not whether the program is
// right.
#ifndef CLEAVE_IR_PROGRAM_FUSE_HOST_COPIES_H_
#define CLEAVE_IR_PROGRAM_FUSE_HOST_COPIES_H_

#include <vector>

#include "ir/program/fuse/fuse.h"
#include "ir/program/program.h"

namespace cleave::ir {

// Where no other copy is near, memory is held for so many stages.
inline constexpr int kMostStagesBesideCopy = 32;

// A copy, and the stages during which what it reads or writes on the device has memory for its sake.
struct CopyHold {
  HostCopy::Direction direction = HostCopy::Direction::kOut;
  ValueId value;  // On the device.
  int first = 0;  // Of a copy out its own stage,
  int last = 0;   // and of a copy back its own stage.

  bool operator==(const CopyHold&) const = default;
};

// In the order of the stages. A copy is held for within its phase, and where there are micro-batches, within one.
std::vector<CopyHold> HoldsOfCopies(const Program& program, const Fusion& fusion);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_FUSE_HOST_COPIES_H_
