#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/ranking.h"

namespace cleave::ir {
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

// An index does not change when its element changes a little.
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

std::vector<KernelCall> ArgmaxCalls(const CallSite& site) {
  return {{"ArgMax", {Pointer{0}, LocalSizes{0}, AxisOf(site.type(0), site.attributes), Pointer{kResult}}}};
}

// The distributed form of argmax, where value is the maximum of x: the result is the smallest index over all ranks. A
// maximum that is a NaN is equal to the NaNs.

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
  const auto is_equal = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  std::fill(evaluation.output.values.begin(), evaluation.output.values.end(), static_cast<double>(kNoIndex));
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      const size_t result = static_cast<size_t>(o * view.inner + i);
      for (int64_t position = 0; position < view.length; ++position) {
        if (!is_equal(x.values[view.At(o, position, i)], evaluation.inputs[1]->values[result])) continue;
        evaluation.output.values[result] = static_cast<double>(begin + position);
        break;
      }
    }
  }
}

std::vector<KernelCall> FirstEqualCalls(const CallSite& site) {
  const int axis = AxisOf(site.type(0), site.attributes);
  return {{"FirstEqual", {Pointer{0}, Pointer{1}, LocalSizes{0}, axis, FirstIndex{{0, axis}}, Pointer{kResult}}}};
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
                      .evaluate = EvaluateArgmax,
                      .batch = BatchAlongAxis,
                      .calls = ArgmaxCalls};
}

OpDefinition DefineFirstEqual() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "x"}, {.name = "value"}, OptionalAttribute(attribute::kAxis, -1)},
                      .summary = "the first index along an axis at which x equals value, 2147483647 for none",
                      .infer = InferFirstEqual,
                      .rule = FirstEqualRule,
                      .flops = FlopsPerInputElement<1>,
                      .evaluate = EvaluateFirstEqual,
                      .calls = FirstEqualCalls};
}

}  // namespace cleave::ir
