// Slices of a tensor by number: `indices` take the place of one dimension. An index that the dimension does not have
// gives zeros, so a rank that holds some of its elements gives these, and the sum over all ranks is the whole.

#include "ir/ops/define.h"
#include "ir/ops/indexing.h"

namespace cleave {
namespace {

InferResult InferGather(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kI32, "indices")) return *error;
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  return TensorType{DType::kF32, WithDimensions(inputs[0].shape, axis, 1, inputs[1].shape)};
}

Rule GatherRule(Types inputs, const TensorType&, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  Rule rule;
  std::vector<FactorList> x = AddDimensions(rule, inputs[0].shape);
  rule.factors[axis] = {.name = "v", .kind = FactorKind::kReduced, .size = inputs[0].shape[axis]};
  const std::vector<FactorList> indices = AddIndexDimensions(rule, inputs[1].shape, FactorKind::kParallel);
  rule.output = WithDimensions(x, axis, 1, indices);
  rule.inputs = {std::move(x), indices};
  rule.linear = {{0}};
  return rule;
}

Gradients GatherGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const Shape& x = builder.type(op.inputs[0]).shape;
  const size_t axis = AxisOf(op.attributes, static_cast<int>(x.size()));
  return {
      builder.Add(OpKind::kScatterAdd, {dy, op.inputs[1]},
                  {{attribute::kSize, x[axis]}, {attribute::kAxis, static_cast<int64_t>(axis)}}, GradientName(op, "x")),
      std::nullopt};
}

void EvaluateGather(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(x.shape.size()));
  GatherRows(x, *evaluation.inputs[1],
             IndexingOf(x.shape, axis, evaluation.inputs[1]->shape, evaluation.ranges[axis].begin), evaluation.output);
}

int64_t GatherChoices(Types inputs, const Attributes& attributes, int input) {
  return input == 1 ? inputs[0].shape[AxisOf(attributes, inputs[0].rank())] : 0;
}

}  // namespace

OpDefinition DefineGather() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .signature = {{.name = "x"}, {.name = "indices"}, OptionalAttribute(attribute::kAxis, 0)},
                      .summary = "the slices of x along `axis` that `indices` number, in their place",
                      .infer = InferGather,
                      .rule = GatherRule,
                      .gradient = GatherGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateGather,
                      .choices = GatherChoices};
}

}  // namespace cleave
