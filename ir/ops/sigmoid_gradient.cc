#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {

OpDefinition DefineSigmoidGradient() {
  OpDefinition definition = UnaryGradientOp("y", "dy * y * (1 - y)");
  definition.flops = FlopsPerElement<3>;
  definition.evaluate = EvaluateBinary<[](double dy, double y) { return dy * y * (1 - y); }>;
  return definition;
}

}  // namespace cleave
