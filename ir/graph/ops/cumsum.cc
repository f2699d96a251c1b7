// Running sums along one dimension, which is whole: every element needs all those before it.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

InferResult InferCumsum(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  return inputs[0];
}

Rule CumsumRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = FirstLinearRule(inputs, output, attributes);
  rule.factors[AxisOf(attributes, output.rank())].kind = FactorKind::kWhole;
  return rule;
}

Gradients CumsumGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kCumsum, {dy},
                      {{attribute::kAxis, op.attributes.Get(attribute::kAxis)},
                       {attribute::kReverse, !op.attributes.Get(attribute::kReverse)}},
                      GradientName(op, "x"))};
}

void EvaluateCumsum(const Evaluation& evaluation) {
  const Shape& shape = evaluation.output.shape;
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(shape.size()));
  const bool reverse = evaluation.attributes.Get(attribute::kReverse);
  const int64_t step = Strides(shape)[axis];
  const int64_t count = ElementCount(shape);
  std::vector<double>& y = evaluation.output.values;
  y = evaluation.inputs[0]->values;
  for (int64_t n = 0; n < count; ++n) {
    const int64_t i = reverse ? count - 1 - n : n;
    const int64_t before = reverse ? i + step : i - step;
    const int64_t place = i / step % shape[axis];
    if (place != (reverse ? shape[axis] - 1 : 0)) y[static_cast<size_t>(i)] += y[static_cast<size_t>(before)];
  }
}

std::vector<KernelCall> CumsumCalls(const CallSite& site) {
  const auto axis = static_cast<int64_t>(AxisOf(site.attributes, site.output.rank()));
  return {{site.attributes.Get(attribute::kReverse) ? "ReverseCumsum" : "Cumsum",
           {Pointer{0}, LocalSizes{0}, axis, Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineCumsum() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .signature = {{.name = "x"}, RequiredAttribute(attribute::kAxis), OptionalAttribute(attribute::kReverse, false)},
      .summary = "each element plus all before it along `axis`; with `reverse`, all after it",
      .infer = InferCumsum,
      .rule = CumsumRule,
      .gradient = CumsumGradients,
      .flops = FlopsPerElement<1>,
      .evaluate = EvaluateCumsum,
      .batch = BatchAlongAxis,
      .calls = CumsumCalls};
}

}  // namespace cleave::ir
