// What is stored of a matrix in 8 bits, as the real numbers that it stands for (ir/transforms/quantize).

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

InferResult InferDequantize(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kI8, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kF32, "scale")) return *error;
  const std::optional<Shape> shape = BroadcastShape(inputs[0].shape, inputs[1].shape);
  if (shape == inputs[0].shape) return TensorType{DType::kF32, *shape};
  return OpError{.code = Code::kE0402,
                 .message = absl::StrCat("scales ", ShapeText(inputs[1].shape), " do not broadcast to ",
                                         ShapeText(inputs[0].shape)),
                 .about = {{1, absl::StrCat("is ", ShapeText(inputs[1].shape))}}};
}

Gradients DequantizeGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const TensorType scale = builder.type(op.inputs[1]);
  const std::string name = GradientName(op, "scale");
  const OpId x = builder.Add(OpKind::kCast, {op.inputs[0]}, {{attribute::kDType, DType::kF32}}, name);
  return {std::nullopt, SumToType(builder, builder.Add(OpKind::kMul, {dy, x}, {}, name), scale, name)};
}

}  // namespace

OpDefinition DefineDequantize() {
  OpDefinition definition =
      ElementwiseOp({.parameters = {"x", "scale"}, .value = Variable("x") * Variable("scale")},
                    {{.name = "x"}, {.name = "scale"}}, "numbers of i8, each times the scale of its row");
  definition.callable = false;
  definition.infer = InferDequantize;
  definition.gradient = DequantizeGradients;
  definition.gives_16_bits = true;
  return definition;
}

}  // namespace cleave::ir
