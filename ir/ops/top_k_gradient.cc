#include "ir/ops/define.h"
#include "ir/ops/ranking.h"

namespace cleave {
namespace {

InferResult InferTopKGradient(Types inputs, const Attributes& attributes) {
  const InferResult rows = InferRows(inputs, attributes);
  if (std::holds_alternative<OpError>(rows)) return rows;
  if (auto error = CheckDType(inputs, 1, DType::kI32, "indices")) return *error;
  if (auto error = CheckSameShape(inputs, 0, 1, "indices")) return *error;
  if (auto error = CheckSizes({attributes.Get(attribute::kElements)}, "elements")) return *error;
  TensorType output = inputs[0];
  output.shape.back() = attributes.Get(attribute::kElements);
  return output;
}

Rule TopKGradientRule(Types inputs, const TensorType& output, const Attributes&) {
  Rule rule;
  rule.output = AddDimensions(rule, Shape(output.shape.begin(), output.shape.end() - 1));
  rule.inputs = {rule.output, rule.output};
  const int rank = AddFactor(rule, "k", inputs[0].shape.back(), FactorKind::kReduced);
  const int element = AddFactor(rule, "n", output.shape.back());
  for (int factor : {rank, element}) rule.factors[static_cast<size_t>(factor)].fixed_size = true;
  for (std::vector<FactorList>& input : rule.inputs) input.push_back({rank});
  rule.output.push_back({element});
  rule.linear = {{0}};
  return rule;
}

void EvaluateTopKGradient(const Evaluation& evaluation) {
  const Tensor& dy = *evaluation.inputs[0];
  const Rows rows = RowsOf(dy);
  const FactorRange& elements = evaluation.ranges.back();
  for (size_t i = 0; i < dy.values.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / rows.length;
    const int64_t at = static_cast<int64_t>(evaluation.inputs[1]->values[i]) - elements.begin;
    if (at < 0 || at >= elements.size) continue;
    evaluation.output.values[static_cast<size_t>(row * elements.size + at)] += dy.values[i];
  }
}

}  // namespace

OpDefinition DefineTopKGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "dy"}, {.name = "indices"}, RequiredAttribute(attribute::kElements)},
                      .summary = "zeros, with dy at the indices of the last dimension",
                      .infer = InferTopKGradient,
                      .rule = TopKGradientRule,
                      .flops = FlopsPerInputElement<1>,
                      .evaluate = EvaluateTopKGradient};
}

}  // namespace cleave
