#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {

OpDefinition DefineTanhGradient() {
  OpDefinition definition = UnaryGradientOp("y", "dy * (1 - y * y)");
  definition.flops = FlopsPerElement<3>;
  definition.evaluate = EvaluateBinary<[](double dy, double y) { return dy * (1 - y * y); }>;
  return definition;
}

}  // namespace cleave
