// Finds what a sequence says again and again: the stages of equal layers among those of a program.
//
//   FindRepeats({7, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8}, {}, 2) -> period 3 at 1, 4, 7
#ifndef CLEAVE_CODEGEN_LAYERS_REPEATS_H_
#define CLEAVE_CODEGEN_LAYERS_REPEATS_H_

#include <set>
#include <vector>

namespace cleave::codegen {

// The same `period` symbols stand at each of `begins`, in order, which do not overlap.
struct Repeat {
  int period = 0;           // At least one.
  std::vector<int> begins;  // At least two.

  bool operator==(const Repeat&) const = default;
};

// Repeats that do not overlap each other, ordered by their first place. What follows itself directly most is found
// first, then all its other places, then the same in what is left. Nothing is found that would save less than
// `least_saved` symbols if it were said once. Takes time proportional to the length for each period that is tried, of
// which there are few: the distances at which symbols return.
//
// `starts`: places where a repeat had better begin. What repeats may begin at several places, which are one repeat if
// all but the first and last few symbols are the same. Where more than half of the symbols stand once more, before or
// behind, they are a repeat, and the others are another:
//
//   FindRepeats({1, 2, 3, 1, 2, 3, 1, 2, 8}, {}, 2) -> period 2 at 0, 3, 6; period 1 at 2, 5
std::vector<Repeat> FindRepeats(const std::vector<int>& symbols, const std::set<int>& starts, int least_saved);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_LAYERS_REPEATS_H_
