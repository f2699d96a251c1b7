// The zigzag order of the rows of a sequence: 2 * pairs chunks of equal size, the first beside the last, the second
// beside the last but one, and so on:
//
//   pairs = 2, 8 rows:   0 1 | 6 7,  2 3 | 4 5
//
// Behind a causal mask the rows of each pair see as many keys as those of any other one, so that ranks that have one
// pair each have equal work. ir/graph/ops/zigzag.h is the compiler's side of it.
#ifndef CLEAVE_RUNTIME_KERNELS_ZIGZAG_H_
#define CLEAVE_RUNTIME_KERNELS_ZIGZAG_H_

#include <cstdint>

#include "runtime/device/portable.h"

namespace cleave::runtime {

// Some neighbours of a sequence that lies in this order.
struct Zigzag {
  int64_t pairs = 0;  // 0: the rows lie in their own order.
  int64_t chunk = 0;  // The rows of a chunk.
  int64_t first = 0;  // Where the neighbours begin.

  // The number in the sequence of neighbour `i`.
  CLEAVE_PORTABLE int64_t PlaceOf(int64_t i) const {
    const int64_t at = first + i;
    if (pairs == 0) return at;
    const int64_t pair = at / (2 * chunk);
    const int64_t within = at - pair * 2 * chunk;
    return within < chunk ? pair * chunk + within : (2 * pairs - 2 - pair) * chunk + within;
  }
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_ZIGZAG_H_
