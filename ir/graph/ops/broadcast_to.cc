#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

InferResult InferBroadcastTo(Types inputs, const Attributes& attributes) {
  const Shape& shape = attributes.Get(attribute::kShape);
  if (auto error = CheckSizes(shape, "shape")) return *error;
  const std::optional<Shape> common = BroadcastShape(inputs[0].shape, shape);
  if (common.has_value() && *common == shape) return TensorType{inputs[0].dtype, shape};
  return OpError{
      .code = Code::kE0402,
      .message = absl::StrCat("shape ", ShapeText(inputs[0].shape), " does not broadcast to ", ShapeText(shape)),
      .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))}}};
}

Gradients BroadcastToGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  if (op.type.dtype != DType::kF32) return {std::nullopt};
  return {SumToType(builder, dy, builder.type(op.inputs[0]), GradientName(op, "x"))};
}

OpId BatchBroadcastTo(Lift& lift) {
  const Shape& shape = lift.op().attributes.Get(attribute::kShape);
  const OpId x = lift.Aligned(0, static_cast<int>(shape.size()));
  return lift.Main({x}, {{attribute::kShape, Before(lift.size(), shape)}});
}

}  // namespace

OpDefinition DefineBroadcastTo() {
  OpDefinition definition =
      UnaryOp({.value = Variable("x"), .flops = 0}, "x repeated along dimensions of size 1 and new leading ones");
  definition.signature.push_back(RequiredAttribute(attribute::kShape));
  definition.infer = InferBroadcastTo;
  definition.gradient = BroadcastToGradients;
  definition.resize = ResizeShape;
  definition.batch = BatchBroadcastTo;
  return definition;
}

}  // namespace cleave::ir
