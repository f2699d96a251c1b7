#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

double Sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : 0); }

}  // namespace

OpDefinition DefineSign() {
  OpDefinition definition = UnaryOp("-1, 0 or 1 by the sign of each element");
  definition.callable = false;
  definition.evaluate = EvaluateUnary<Sign>;
  return definition;
}

}  // namespace cleave
