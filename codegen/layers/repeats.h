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
  int period = 0;
  std::vector<int> begins;  // At least two.

  bool operator==(const Repeat&) const = default;
};

// Repeats of at least `least_period` symbols that do not overlap each other, ordered by their first place. What follows
// itself directly most is found first, then all its other places, then the same in what is left. Takes time
// proportional to the length for each period that is tried, of which there are few: the distances at which symbols
// return.
//
// `starts`: places where a repeat had better begin. What repeats may begin at several places, which are one repeat if
// all but the first and last few symbols are the same.
std::vector<Repeat> FindRepeats(const std::vector<int>& symbols, const std::set<int>& starts, int least_period);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_LAYERS_REPEATS_H_
