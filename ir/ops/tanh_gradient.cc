#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {

OpDefinition DefineTanhGradient() {
  OpDefinition definition = UnaryGradientOp("tanh_gradient", "y", "dy * (1 - y * y)");
  definition.flops = FlopsPerElement<3>;
  definition.evaluate = EvaluateBinary<[](double dy, double y) { return dy * (1 - y * y); }>;
  return definition;
}

}  // namespace cleave
