#include "absl/strings/str_cat.h"
#include "ir/ops/boxing.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

InferResult InferSlice(Types inputs, const Attributes& attributes) {
  const Shape& shape = inputs[0].shape;
  const std::vector<int64_t>& begin = attributes.GetInts("begin");
  const std::vector<int64_t>& end = attributes.GetInts("end");
  if (begin.size() != shape.size() || end.size() != shape.size()) {
    return OpError{.code = Code::kE0412,
                   .message = absl::StrCat("a slice of ", begin.size(), " dimensions of a tensor with ", shape.size()),
                   .about = {{0, absl::StrCat("is ", ShapeText(shape))}}};
  }
  TensorType output{inputs[0].dtype, {}};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (begin[d] < 0 || end[d] > shape[d] || begin[d] >= end[d]) {
      return OpError{.code = Code::kE0412,
                     .message = absl::StrCat("slice ", begin[d], "..", end[d], " of dimension ", d, " with ", shape[d],
                                             " elements"),
                     .about = {{0, absl::StrCat("has ", shape[d], " in dimension ", d)}},
                     .notes = {"a slice a..b needs 0 <= a < b <= size"}};
    }
    output.shape.push_back(end[d] - begin[d]);
  }
  return output;
}

Rule SliceRule(Types inputs, const TensorType& output, const Attributes&) {
  return BoxRule(inputs[0].shape, output.shape);
}

Gradients SliceGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const Shape shape = builder.type(op.inputs[0]).shape;
  return {
      builder.Add("pad", {dy}, {{"begin", op.attributes.GetInts("begin")}, {"shape", shape}}, GradientName(op, "x"))};
}

// Whole dimensions are not cut, and begin is 0 in the others, so begin holds for local tensors too.
void EvaluateSlice(const Evaluation& evaluation) {
  evaluation.output = Box(*evaluation.inputs[0], evaluation.attributes.GetInts("begin"), evaluation.output.shape);
}

Attributes ResizeSlice(const Attributes& attributes, const Rule& rule, absl::Span<const int64_t> factor_sizes) {
  Attributes resized = attributes;
  std::vector<int64_t> end = SizesOf(rule.output, factor_sizes);
  for (size_t d = 0; d < end.size(); ++d) end[d] += attributes.GetInts("begin")[d];
  resized.values["end"] = end;
  return resized;
}

}  // namespace

OpDefinition DefineSlice() {
  return OpDefinition{.name = "slice",
                      .op_class = OpClass::kMovement,
                      .signature = {{.name = "x"},
                                    {.name = "begin", .kind = ArgumentKind::kInts},
                                    {.name = "end", .kind = ArgumentKind::kInts}},
                      .summary = "elements begin to end, without end, of every dimension; written x[a..b, ..]",
                      .infer = InferSlice,
                      .rule = SliceRule,
                      .gradient = SliceGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateSlice,
                      .resize = ResizeSlice};
}

}  // namespace cleave
