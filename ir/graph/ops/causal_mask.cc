// Attention scores that look ahead are set to `fill`: entry [.., s, t] with t > s. Its gradient is itself with fill 0.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"

namespace cleave::ir {
namespace {

InferResult InferCausalMask(Types inputs, const Attributes&) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  if (auto error = CheckRank(inputs, 0, 2)) return *error;
  return inputs[0];
}

Rule CausalMaskRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = BroadcastRule(inputs, output, {});
  if (attributes.Get(attribute::kFill) == 0) rule.linear = {{0}};
  return rule;
}

Gradients CausalMaskGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kCausalMask, {dy}, {{attribute::kFill, 0.0}}, GradientName(op, "x"))};
}

void EvaluateCausalMask(const Evaluation& evaluation) {
  const Shape& shape = evaluation.output.shape;
  const size_t rank = shape.size();
  const int64_t columns = shape[rank - 1];
  const int64_t rows = shape[rank - 2];
  const int64_t first_row = evaluation.ranges[rank - 2].begin;
  const int64_t first_column = evaluation.ranges[rank - 1].begin;
  const double fill = evaluation.attributes.Get(attribute::kFill);
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const int64_t element = static_cast<int64_t>(i);
    const int64_t column = first_column + element % columns;
    const int64_t row = first_row + element / columns % rows;
    evaluation.output.values[i] = column > row ? fill : evaluation.inputs[0]->values[i];
  }
}

std::vector<KernelCall> CausalMaskCalls(const CallSite& site) {
  const int rank = site.type(0).rank();
  const LocalDimension rows = {0, rank - 2}, columns = {0, rank - 1};
  return {{"CausalMask",
           {Pointer{0}, site.Elements(0, 0, rank - 2), LocalSize{{rows}}, LocalSize{{columns}}, FirstIndex{rows},
            FirstIndex{columns}, FloatNumber{site.attributes.Get(attribute::kFill)}, Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineCausalMask() {
  OpDefinition definition = UnaryOp("entries [.., s, t] with t > s replaced by a large negative number");
  definition.depends_on_place = true;
  definition.signature.push_back(OptionalAttribute(attribute::kFill, -1e9));
  definition.infer = InferCausalMask;
  definition.rule = CausalMaskRule;
  definition.gradient = CausalMaskGradients;
  definition.evaluate = EvaluateCausalMask;
  definition.calls = CausalMaskCalls;
  return definition;
}

}  // namespace cleave::ir
