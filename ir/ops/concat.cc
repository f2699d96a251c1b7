#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

size_t AxisOf(const Attributes& attributes, int rank) {
  const int64_t axis = attributes.GetInt("axis");
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

InferResult InferConcat(Types inputs, const Attributes& attributes) {
  auto axes = NormalizeAxes({attributes.GetInt("axis")}, inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  TensorType output = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    const int index = static_cast<int>(i);
    if (auto error = CheckDType(inputs, index, inputs[0].dtype, "x")) return *error;
    Shape expected = inputs[0].shape;
    if (inputs[i].rank() == inputs[0].rank()) expected[axis] = inputs[i].shape[axis];
    if (inputs[i].shape != expected) {
      return OpError{.code = Code::kE0405,
                     .message = absl::StrCat("concatenation along axis ", axis, " of ", ShapeText(inputs[0].shape),
                                             " and ", ShapeText(inputs[i].shape)),
                     .about = {{index, absl::StrCat("is ", ShapeText(inputs[i].shape))},
                               {0, absl::StrCat("is ", ShapeText(inputs[0].shape))}},
                     .notes = {absl::StrCat("all sizes but that of axis ", axis, " must be the same")}};
    }
    output.shape[axis] += inputs[i].shape[axis];
  }
  return output;
}

Rule ConcatRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, output.rank());
  Rule rule;
  for (size_t d = 0; d < output.shape.size(); ++d) {
    const bool whole = d == axis;
    const std::string name = whole ? "c" : absl::StrCat("d", d);
    rule.output.push_back({AddFactor(rule, name, output.shape[d], whole ? FactorKind::kWhole : FactorKind::kParallel)});
    rule.factors.back().fixed_size = whole;
  }
  std::vector<int> all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<FactorList> dimensions = rule.output;
    dimensions[axis] = {AddFactor(rule, absl::StrCat("c", i), inputs[i].shape[axis], FactorKind::kWhole)};
    rule.factors.back().fixed_size = true;
    rule.inputs.push_back(std::move(dimensions));
    all.push_back(static_cast<int>(i));
  }
  rule.linear = {all};
  return rule;
}

Gradients ConcatGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const size_t axis = AxisOf(op.attributes, op.type.rank());
  Gradients gradients;
  std::vector<int64_t> begin(op.type.shape.size(), 0);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const int64_t size = builder.type(op.inputs[i]).shape[axis];
    std::vector<int64_t> end = op.type.shape;
    end[axis] = begin[axis] + size;
    gradients.push_back(
        builder.Add("slice", {dy}, {{"begin", begin}, {"end", end}}, GradientName(op, absl::StrCat("x", i))));
    begin[axis] += size;
  }
  return gradients;
}

void EvaluateConcat(const Evaluation& evaluation) {
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(evaluation.output.shape.size()));
  Shape begin(evaluation.output.shape.size(), 0);
  for (const Tensor* input : evaluation.inputs) {
    PasteBox(*input, begin, evaluation.output);
    begin[axis] += input->shape[axis];
  }
}

}  // namespace

OpDefinition DefineConcat() {
  return OpDefinition{
      .name = "concat",
      .op_class = OpClass::kMovement,
      .signature = {{.name = "x", .kind = ArgumentKind::kTensorList}, {.name = "axis", .kind = ArgumentKind::kInt}},
      .summary = "tensors one after another along an axis",
      .infer = InferConcat,
      .rule = ConcatRule,
      .gradient = ConcatGradients,
      .flops = FlopsPerElement<0>,
      .evaluate = EvaluateConcat};
}

}  // namespace cleave
