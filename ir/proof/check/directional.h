// Compares the gradients of a manual program with how its loss changes. This proves them from end to end, whatever
// messages the ranks exchange. Private to ir/proof/check.
#ifndef CLEAVE_IR_PROOF_CHECK_DIRECTIONAL_H_
#define CLEAVE_IR_PROOF_CHECK_DIRECTIONAL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/proof/interpret/interpret_ranks.h"
#include "ir/tensor/types/tensor.h"

namespace cleave::ir {

// The derivative of the loss along one random direction of all parameters, computed in two ways.
struct DirectionalDerivative {
  int parameters = 0;    // Those that have a gradient.
  double gradient = 0;   // The sum of gradient times direction; for local parameters over all ranks.
  double measured = 0;   // The central difference of the loss.
  double tolerance = 0;  // Of their difference: rounding, and the curvature of the loss.
  double roughness = 0;  // How far the loss is from smooth at this length, as an error of `measured`.

  bool agrees() const;
  // The loss is smooth here and changes in another way. If neither, the derivative cannot be measured here: the loss
  // has a kink, it is no number, or rounding changes it as much as the parameters do.
  bool differs() const;
};

// The values of a program on its ranks: [value][rank].
using ProgramValues = IdVector<ValueId, std::vector<Tensor>>;

// Moves the parameters by `length` both ways along a direction drawn from `seed`. `values` are those of the program on
// `sources`. REQUIRES: the program has a loss.
absl::StatusOr<DirectionalDerivative> DerivativeAlong(uint64_t seed, double length, const Graph& graph,
                                                      const Program& program, const RankSources& sources,
                                                      const ProgramValues& values, int64_t step);

// The constant that is the gradient of the loss by itself, of which all gradients are multiples; null where no gradient
// is taken. REQUIRES: `graph` is manual.
const Op* LossGradientOf(const Graph& graph);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_DIRECTIONAL_H_
