// The redistributions of a program: every place where a tensor changes its layout between the op that makes it and one
// that reads it.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTIONS_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTIONS_H_

#include <string>
#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// A tensor's way from one layout to another. `steps` are indexes of Program::steps, collectives and local slices, in
// order; values between two of them have no other reader. A merged collective belongs to several redistributions.
struct ProgramRedistribution {
  ValueId from;
  ValueId to;
  std::vector<int> steps;

  bool operator==(const ProgramRedistribution&) const = default;
};

// In program order of their first steps. A manual model has none: its communication is written in the model.
std::vector<ProgramRedistribution> RedistributionsOf(const Program& program);

// One line for each redistribution and one with the total, as docs/formats/redistributions.md describes.
std::string RedistributionsText(const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTIONS_H_
