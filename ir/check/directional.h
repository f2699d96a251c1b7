// The gradients of a manual program against how its loss changes: what proves them end to end, whatever the ranks send
// each other on the way. Private to ir/check.
#ifndef CLEAVE_IR_CHECK_DIRECTIONAL_H_
#define CLEAVE_IR_CHECK_DIRECTIONAL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/interpret/interpret_ranks.h"
#include "ir/program/program.h"
#include "ir/types/tensor.h"

namespace cleave {

// The derivative of the loss along one random direction of all parameters, taken twice.
struct DirectionalDerivative {
  int parameters = 0;    // That have a gradient.
  double gradient = 0;   // The sum of gradient times direction; of local parameters over all ranks.
  double measured = 0;   // The central difference of the loss.
  double tolerance = 0;  // Of their difference: roundings and the curve of the loss.

  bool agrees() const;
};

// The values of a program on its ranks: [value][rank].
using ProgramValues = IdVector<ValueId, std::vector<Tensor>>;

// Steps by `length` either way along a direction drawn from `seed`. `values`: of the program on `sources`. The loss may
// have kinks, so a mismatch is a mistake only if it comes again elsewhere. REQUIRES: the program has a loss.
absl::StatusOr<DirectionalDerivative> DerivativeAlong(uint64_t seed, double length, const Graph& graph,
                                                      const Program& program, const RankSources& sources,
                                                      const ProgramValues& values, int64_t step);

}  // namespace cleave

#endif  // CLEAVE_IR_CHECK_DIRECTIONAL_H_
