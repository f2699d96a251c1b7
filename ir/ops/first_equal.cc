// With value = the maximum of x, the distributed form of argmax: the smallest index over all ranks counts.

#include <algorithm>

#include "ir/ops/define.h"
#include "ir/ops/ranking.h"

namespace cleave {
namespace {

InferResult InferFirstEqual(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kF32, "value")) return *error;
  if (auto error = CheckAxis(inputs, attributes)) return *error;
  const int axis = AxisOf(inputs[0], attributes);
  TensorType value = inputs[0];
  value.shape[static_cast<size_t>(axis)] = 1;
  if (auto error = CheckSameShape({value, inputs[1]}, 0, 1, "value")) return *error;
  TensorType output{DType::kI32, inputs[0].shape};
  output.shape.erase(output.shape.begin() + axis);
  return output;
}

Rule FirstEqualRule(Types inputs, const TensorType&, const Attributes& attributes) {
  const auto axis = static_cast<size_t>(AxisOf(inputs[0], attributes));
  Rule rule;
  const std::vector<FactorList> dimensions = AddDimensions(rule, inputs[0].shape);
  rule.factors[axis].kind = FactorKind::kReduced;
  rule.factors[axis].reduction = Reduction::kMin;
  rule.inputs = {dimensions, dimensions};
  rule.inputs[1][axis] = {};
  rule.output = dimensions;
  rule.output.erase(rule.output.begin() + static_cast<std::ptrdiff_t>(axis));
  return rule;
}

void EvaluateFirstEqual(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const int axis = AxisOf({DType::kF32, x.shape}, evaluation.attributes);
  const AxisView view = ViewAround(x.shape, axis);
  const int64_t begin = evaluation.ranges[static_cast<size_t>(axis)].begin;
  std::fill(evaluation.output.values.begin(), evaluation.output.values.end(), static_cast<double>(kNoIndex));
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      const size_t result = static_cast<size_t>(o * view.inner + i);
      for (int64_t position = 0; position < view.length; ++position) {
        if (x.values[view.At(o, position, i)] != evaluation.inputs[1]->values[result]) continue;
        evaluation.output.values[result] = static_cast<double>(begin + position);
        break;
      }
    }
  }
}

}  // namespace

OpDefinition DefineFirstEqual() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "x"}, {.name = "value"}, OptionalAttribute(attribute::kAxis, -1)},
                      .summary = "the first index along an axis at which x equals value, 2147483647 for none",
                      .infer = InferFirstEqual,
                      .rule = FirstEqualRule,
                      .flops = FlopsPerInputElement<1>,
                      .evaluate = EvaluateFirstEqual};
}

}  // namespace cleave
