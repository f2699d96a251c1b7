// A lower bound of what it costs to reach the target: it guides the search and tells when a path cannot be beaten.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_BOUND_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_BOUND_H_

#include <vector>

#include "ir/program/redistribute/arrangement.h"

namespace cleave::ir {

enum class BoundKind {
  kProven,    // No path over the problem's atoms is cheaper.
  kEstimate,  // As if all pieces were equal: closer to the real cost, but it may be too high where they are not.
};

class CostBound {
 public:
  // `problem` must outlive the object.
  CostBound(const Problem& problem, BoundKind kind);

  // For the paths from `arrangement` to the target.
  double AtLeast(const Arrangement& arrangement) const;

 private:
  // The axes of at least one weight, seen as a mesh of hosts: the ranks that differ only on other axes are one host.
  struct Level {
    double weight_step = 0;  // Its weight minus that of the level before.
    int64_t ranks = 1;       // The ranks of the problem, over this level's axes.
    int64_t ranks_per_host = 1;
    double target_bytes = 0;  // What a host wants, in the mean.
  };

  // One axis that cuts a dimension: there are `count` pieces up to and including it.
  struct Digit {
    int64_t count = 1;
    int64_t size = 1;
    size_t atom = 0;
    size_t axis_in_atom = 0;
    size_t level = 0;  // The last level to which the axis belongs.

    bool IsSameAxis(const Digit& other) const { return atom == other.atom && axis_in_atom == other.axis_in_atom; }
  };
  using Digits = absl::InlinedVector<Digit, 12>;

  double MissingBytes(const Arrangement& arrangement, size_t level) const;
  // Ranks of `level`'s axes in these atoms.
  int64_t Ranks(AtomSpan atoms, size_t level) const;
  Digits DigitsOf(AtomSpan atoms) const;
  // The part of a dimension that is both had and wanted by the host for which that part is smallest.
  double SharedFraction(const Digits& has, const Digits& wants, size_t level) const;

  const Problem& problem_;
  std::vector<Level> levels_;                       // Ascending by weight; the first has all axes.
  std::vector<std::vector<size_t>> level_of_axis_;  // Per atom and axis in it.
  std::vector<Digits> wanted_;                      // Per dimension, of the target.
  double bytes_ = 0;                                // The piece of the fixed axes, in the mean.
  bool is_even_ = false;  // Every arrangement cuts every dimension into equal pieces, or is assumed to.
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_BOUND_H_
