// Finds what a sequence says again and again: the stages of equal layers among those of a program.
//
//   FindRepeats({7, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8}) -> period 3 at 1, 4, 7
#ifndef CLEAVE_CODEGEN_ROLL_REPEATS_H_
#define CLEAVE_CODEGEN_ROLL_REPEATS_H_

#include <cstddef>
#include <functional>
#include <set>
#include <vector>

namespace cleave::codegen {

// The same `period` symbols stand at each of `begins`, in order, which do not overlap.
struct Repeat {
  int period = 0;           // At least one.
  std::vector<int> begins;  // At least two.

  bool operator==(const Repeat&) const = default;
};

struct RepeatOptions {
  // Nothing is found that would save fewer symbols if it were said once.
  int least_saved = 1;
  // Places where a repeat had better begin. What repeats may begin at several places, which are one repeat if all but
  // the first and last few symbols are the same.
  std::set<int> starts = {};
  // Of how many loops these are the passes; 0 where they are worth nothing.
  std::function<size_t(const Repeat& repeat)> loops = [](const Repeat&) { return 1; };
};

// Repeats that do not overlap each other, ordered by their first place. What follows itself directly most is found
// first, then all its other places, then the same in what is left. Takes time proportional to the length for each
// period that is tried, of which there are few: the distances at which symbols return.
//
// Where more than half of what follows itself stands once more, before or behind, as another pass of the same loop,
// with a few others between or without the last ones, each piece of it is a repeat:
//
//   FindRepeats({1, 2, 3, 1, 2, 3, 1, 2, 8}) -> period 2 at 0, 3, 6; period 1 at 2, 5
//   FindRepeats({1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 7, 3, 4}) -> period 2 at 0, 4, 8; period 2 at 2, 6, 11
std::vector<Repeat> FindRepeats(const std::vector<int>& symbols, const RepeatOptions& options = {});

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_ROLL_REPEATS_H_
