// Tensors that lie in parts of larger ones, where they are read or written without a copy.
//
//   qkv  f32[8, 1024, 2304]                                                            a product
//   q    qkv as [8, 1024, 12, 3, 64], its [.., 0, ..], as [8, 1024, 12, 64]            attention reads it
//   -> q lies in qkv, from element 0 on, with strides 2359296, 2304, 192 and 1; k and v from elements 64 and 128 on
//
// A slice is not made if all that read it can step over what lies between its elements. It then lies in the tensor of
// which it is a slice, and this lives as long as the slice is needed. The other way around, a concatenation is not made
// if all its inputs are results that can be written into their places of it; there a reduction may complete them.
// What can be read and written so the op table says (Argument::strides and takes_runs, OpDefinition::result_strides and
// writes_runs), and what is a slice or a concatenation (Boxes).
//
// A tensor is kept longer for its parts only if these are as large as it, or if it is kept anyway: a slice for which
// the forward pass would keep a larger tensor for the backward pass is made.
#ifndef CLEAVE_IR_PROGRAM_FUSE_PARTS_H_
#define CLEAVE_IR_PROGRAM_FUSE_PARTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ir/program/program.h"

namespace cleave::ir {

// The size of dimension `dimension` of what a rank holds of a value.
struct Extent {
  ValueId value;
  int dimension = 0;

  bool operator==(const Extent&) const = default;
};
// Their product; 1 without any.
using Extents = absl::InlinedVector<Extent, 4>;

// Along a dimension of a box, which is part of `whole`: the first index that a rank holds of `box`, plus `number`, less
// that of `whole`, times `stride` elements.
struct Shift {
  ValueId box;
  ValueId whole;
  int dimension = 0;
  int64_t number = 0;
  Extents stride = {};

  bool operator==(const Shift&) const = default;
};

struct Part {
  ValueId whole;                 // The elements of which lie one behind another, from the beginning of its buffer on.
  std::vector<Extents> strides;  // By dimension of the part: so many elements of the whole to the next one.
  std::vector<Shift> shifts;     // Their sum is the element of the whole with which the part begins.

  bool operator==(const Part&) const = default;
};

using Parts = std::map<ValueId, Part>;

// All values of the program that lie in parts of others: slices, what attention writes, and reshapes of both. Takes
// time linear in steps.
Parts FindParts(const Program& program);

// Whether nothing is done in the step because its value lies where its inputs do: a reshape or view (IsAlias), a slice
// that is a part, a concatenation of parts.
bool LiesInPlace(const Parts& parts, const Step& step);

// Where a part begins on a rank, and its strides, in elements.
struct PartOnRank {
  int64_t begin = 0;
  std::vector<int64_t> strides;
};
PartOnRank PartOn(const Program& program, const Part& part, int rank);

// Where the part `value` begins, if that is the same on all ranks, and its elements lie one behind another; else
// nullopt.
std::optional<PartOnRank> RunOf(const Program& program, ValueId value, const Part& part);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_FUSE_PARTS_H_
