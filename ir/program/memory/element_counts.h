// The places where a rank holds or sends more elements than MPI counts: more than kMaxRankElements (ir/tensor/types) of
// one value, or of the tensors of one message.
//
//   for (const LargeCount& count : LargeCounts(program)) …   // Empty for a program that may be generated.
//
// A message of one tensor has no more elements than its input or its output, so only merged messages are counted in
// addition.
#ifndef CLEAVE_IR_PROGRAM_MEMORY_ELEMENT_COUNTS_H_
#define CLEAVE_IR_PROGRAM_MEMORY_ELEMENT_COUNTS_H_

#include <cstdint>
#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

struct LargeCount {
  ValueId value;         // For a message its largest tensor, the first of equal ones.
  int tensors = 1;       // More than one for a message.
  int64_t elements = 0;  // On the rank with the largest pieces.

  bool operator==(const LargeCount&) const = default;
};

// In the order of the program's steps; the values of a step come before its message.
std::vector<LargeCount> LargeCounts(const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_MEMORY_ELEMENT_COUNTS_H_
