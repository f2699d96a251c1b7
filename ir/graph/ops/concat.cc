#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/boxing.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

InferResult InferConcat(Types inputs, const Attributes& attributes) {
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
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
    // If the limit is passed, the size is set just above it, so that the sum does not overflow; InferChecked refuses
    // the shape.
    output.shape[axis] = std::min(output.shape[axis] + inputs[i].shape[axis], kMaxElements + 1);
  }
  return output;
}

Rule ConcatRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  std::vector<int64_t> offset(output.shape.size(), 0);
  int64_t& before = offset[AxisOf(attributes, output.rank())];
  std::vector<std::vector<Window>> windows;
  for (const TensorType& input : inputs) {
    windows.push_back(ShiftedWindows(input.shape, output.shape, offset));
    before -= input.shape[AxisOf(attributes, output.rank())];
  }
  return ShiftedRule(windows, output.shape);
}

Gradients ConcatGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const size_t axis = AxisOf(op.attributes, op.type.rank());
  Gradients gradients;
  std::vector<int64_t> begin(op.type.shape.size(), 0);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const int64_t size = builder.type(op.inputs[i]).shape[axis];
    std::vector<int64_t> end = op.type.shape;
    end[axis] = begin[axis] + size;
    gradients.push_back(builder.Add(OpKind::kSlice, {dy}, {{attribute::kBegin, begin}, {attribute::kEnd, end}},
                                    GradientName(op, absl::StrCat("x", i))));
    begin[axis] += size;
  }
  return gradients;
}

// The windows of the inputs lie one after another in every piece of the output, as the inputs do in the whole.
void EvaluateConcat(const Evaluation& evaluation) {
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(evaluation.output.shape.size()));
  Shape begin(evaluation.output.shape.size(), 0);
  for (const Tensor* input : evaluation.inputs) {
    PasteBox(*input, begin, evaluation.output);
    begin[axis] += input->shape[axis];
  }
}

OpId BatchConcat(Lift& lift) {
  std::vector<OpId> inputs;
  for (int i = 0; i < lift.input_count(); ++i) inputs.push_back(lift.Whole(i));
  return lift.Main(inputs, {{attribute::kAxis, ShiftedAxis(lift.op().attributes.Get(attribute::kAxis))}});
}

std::vector<std::vector<int64_t>> ConcatBegins(Types inputs, const TensorType& output, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, output.rank());
  std::vector<std::vector<int64_t>> begins;
  std::vector<int64_t> begin(output.shape.size(), 0);
  for (const TensorType& input : inputs) {
    begins.push_back(begin);
    begin[axis] += input.shape[axis];
  }
  return begins;
}

std::vector<KernelCall> ConcatCalls(const CallSite& site) {
  std::vector<KernelCall> calls;
  for (const std::vector<int64_t>& begin : ConcatBegins(site.inputs, site.output, site.attributes)) {
    const int i = static_cast<int>(calls.size());
    calls.push_back(PasteBoxCall(i, PlaceInResult(site, i, begin)));
  }
  return calls;
}

}  // namespace

OpDefinition DefineConcat() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .treatment = Treatment::kFollow,
      .boxes = Boxes{.of = Boxes::Of::kResult, .begins = ConcatBegins},
      .signature = {{.name = "x", .kind = ArgumentKind::kTensorList}, RequiredAttribute(attribute::kAxis)},
      .summary = "tensors one after another along an axis",
      .infer = InferConcat,
      .rule = ConcatRule,
      .gradient = ConcatGradients,
      .flops = FlopsPerElement<0>,
      .evaluate = EvaluateConcat,
      .batch = BatchConcat,
      .calls = ConcatCalls};
}

}  // namespace cleave::ir
