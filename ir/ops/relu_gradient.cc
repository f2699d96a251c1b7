// Reads the value of the relu instead of its argument: both are positive at the same places, and the argument need not
// be kept.

#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {

OpDefinition DefineReluGradient() {
  OpDefinition definition = UnaryGradientOp("y", "dy where y is positive, else 0");
  definition.evaluate = EvaluateBinary<[](double dy, double y) { return 0 < y ? dy : 0; }>;
  return definition;
}

}  // namespace cleave
