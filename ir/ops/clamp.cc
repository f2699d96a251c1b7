// The gradient passes inside of the bounds and at them.

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

InferResult InferClamp(Types inputs, const Attributes& attributes) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  if (auto error = CheckFinite(attributes, attribute::kLow)) return *error;
  if (auto error = CheckFinite(attributes, attribute::kHigh)) return *error;
  const double low = attributes.Get(attribute::kLow);
  const double high = attributes.Get(attribute::kHigh);
  if (low <= high) return inputs[0];
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`low` is ", FormatDouble(low), ", above `high`, ", FormatDouble(high)),
                 .notes = {"every element is to lie between them"}};
}

Gradients ClampGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "x");
  const OpId unchanged = builder.Add(OpKind::kEqual, {op.inputs[0], op.id}, {}, name);
  return {builder.Add(OpKind::kMul, {dy, unchanged}, {}, name)};
}

void EvaluateClamp(const Evaluation& evaluation) {
  const double low = evaluation.attributes.Get(attribute::kLow);
  const double high = evaluation.attributes.Get(attribute::kHigh);
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const double x = evaluation.inputs[0]->values[i];
    evaluation.output.values[i] = x < low ? low : high < x ? high : x;
  }
}

}  // namespace

OpDefinition DefineClamp() {
  OpDefinition definition = UnaryOp("each element, or the bound that it exceeds");
  definition.signature.push_back(RequiredAttribute(attribute::kLow));
  definition.signature.push_back(RequiredAttribute(attribute::kHigh));
  definition.infer = InferClamp;
  definition.gradient = ClampGradients;
  definition.flops = FlopsPerElement<2>;
  definition.evaluate = EvaluateClamp;
  return definition;
}

}  // namespace cleave
