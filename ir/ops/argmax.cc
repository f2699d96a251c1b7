#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/ranking.h"

namespace cleave {
namespace {

InferResult InferArgmax(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckAxis(inputs, attributes)) return *error;
  TensorType output{DType::kI32, inputs[0].shape};
  output.shape.erase(output.shape.begin() + AxisOf(inputs[0], attributes));
  return output;
}

Rule ArgmaxRule(Types inputs, const TensorType&, const Attributes& attributes) {
  const int axis = AxisOf(inputs[0], attributes);
  Rule rule;
  rule.inputs = {AddDimensions(rule, inputs[0].shape)};
  rule.factors[static_cast<size_t>(axis)].kind = FactorKind::kInner;
  rule.output = rule.inputs[0];
  rule.output.erase(rule.output.begin() + axis);
  return rule;
}

// An index does not change with its element.
Gradients ArgmaxGradients(GraphBuilder&, const Op&, OpId) { return {std::nullopt}; }

OpId DistributeArgmax(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const int64_t axis = op.attributes.Get(attribute::kAxis);
  const OpId x = op.inputs[0];
  const OpId max = builder.Add(OpKind::kReduceMax, {x},
                               {{attribute::kAxes, std::vector<int64_t>{axis}}, {attribute::kKeepDims, true}},
                               absl::StrCat(op.name, ".max"));
  return builder.Add(OpKind::kFirstEqual, {x, max}, {{attribute::kAxis, axis}}, op.name);
}

void EvaluateArgmax(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const AxisView view = ViewAround(x.shape, AxisOf({DType::kF32, x.shape}, evaluation.attributes));
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      int64_t best = 0;
      for (int64_t position = 1; position < view.length; ++position) {
        if (RanksBefore(x.values[view.At(o, position, i)], x.values[view.At(o, best, i)])) best = position;
      }
      evaluation.output.values[static_cast<size_t>(o * view.inner + i)] = static_cast<double>(best);
    }
  }
}

}  // namespace

OpDefinition DefineArgmax() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = {{.name = "x"}, OptionalAttribute(attribute::kAxis, -1)},
                      .summary = "index of the largest element along an axis, the first of equal ones",
                      .infer = InferArgmax,
                      .rule = ArgmaxRule,
                      .gradient = ArgmaxGradients,
                      .flops = FlopsPerInputElement<1>,
                      .distribute = DistributeArgmax,
                      .evaluate = EvaluateArgmax};
}

}  // namespace cleave
