#include "ir/ops/reducing.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace cleave {
namespace {

InferResult InferReducing(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  auto axes = NormalizeAxes(attributes.Get(attribute::kAxes), inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const std::vector<int> reduced = AxesOf(attributes, inputs[0].rank());
  TensorType output{DType::kF32, {}};
  for (int d = 0; d < inputs[0].rank(); ++d) {
    if (!std::binary_search(reduced.begin(), reduced.end(), d)) {
      output.shape.push_back(inputs[0].shape[static_cast<size_t>(d)]);
    } else if (attributes.Get(attribute::kKeepDims)) {
      output.shape.push_back(1);
    }
  }
  return output;
}

Flops ReducingFlops(Types inputs, const TensorType&, const Attributes&) {
  return Flops(static_cast<double>(inputs[0].elements()));
}

}  // namespace

OpDefinition ReducingOp(std::string summary) {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = {{.name = "x"},
                                    OptionalAttribute(attribute::kAxes, {}),
                                    OptionalAttribute(attribute::kKeepDims, false)},
                      .summary = std::move(summary),
                      .infer = InferReducing,
                      .flops = ReducingFlops};
}

Rule ReducingRule(Types inputs, const Attributes& attributes, Reduction reduction, LinearGroups linear) {
  const std::vector<int> reduced = AxesOf(attributes, inputs[0].rank());
  Rule rule;
  rule.inputs = {AddDimensions(rule, inputs[0].shape)};
  for (size_t d = 0; d < rule.factors.size(); ++d) {
    if (!std::binary_search(reduced.begin(), reduced.end(), static_cast<int>(d))) {
      rule.output.push_back(rule.inputs[0][d]);
      continue;
    }
    rule.factors[d].kind = FactorKind::kReduced;
    rule.factors[d].reduction = reduction;
    if (attributes.Get(attribute::kKeepDims)) rule.output.push_back({});
  }
  rule.linear = std::move(linear);
  return rule;
}

std::vector<int64_t> ReducedIndex(const Evaluation& evaluation) {
  Shape kept = evaluation.inputs[0]->shape;
  for (int axis : AxesOf(evaluation.attributes, static_cast<int>(kept.size()))) kept[static_cast<size_t>(axis)] = 1;
  return BroadcastIndex(evaluation.inputs[0]->shape, kept);
}

double ReducedCount(const Evaluation& evaluation) {
  double count = 1;
  for (int axis : AxesOf(evaluation.attributes, static_cast<int>(evaluation.inputs[0]->shape.size()))) {
    count *= static_cast<double>(evaluation.ranges[static_cast<size_t>(axis)].global);
  }
  return count;
}

Gradients ExtremeGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  Shape kept = builder.type(x).shape;
  const std::vector<int> axes = AxesOf(op.attributes, static_cast<int>(kept.size()));
  for (int axis : axes) kept[static_cast<size_t>(axis)] = 1;
  const std::string name = GradientName(op, "x");
  auto with_kept_dims = [&](OpId value) {
    return builder.type(value).shape == kept
               ? value
               : builder.Add(OpKind::kReshape, {value}, {{attribute::kShape, kept}}, name);
  };
  const OpId is_extreme = builder.Add(OpKind::kEqual, {x, with_kept_dims(op.id)}, {}, name);
  const std::vector<int64_t> wide_axes(axes.begin(), axes.end());
  const OpId count = builder.Add(OpKind::kReduceSum, {is_extreme},
                                 {{attribute::kAxes, wide_axes}, {attribute::kKeepDims, true}}, name);
  const OpId share = builder.Add(OpKind::kDiv, {with_kept_dims(dy), count}, {}, name);
  return {builder.Add(OpKind::kMul, {is_extreme, share}, {}, name)};
}

}  // namespace cleave
