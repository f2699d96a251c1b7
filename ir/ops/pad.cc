// The gradient of slice.

#include "absl/strings/str_cat.h"
#include "ir/ops/boxing.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

InferResult InferPad(Types inputs, const Attributes& attributes) {
  const Shape& x = inputs[0].shape;
  const std::vector<int64_t>& begin = attributes.GetInts("begin");
  const Shape& shape = attributes.GetInts("shape");
  bool fits = begin.size() == x.size() && shape.size() == x.size();
  for (size_t d = 0; fits && d < x.size(); ++d) fits = begin[d] >= 0 && begin[d] + x[d] <= shape[d];
  if (fits) return TensorType{inputs[0].dtype, shape};
  return OpError{.code = Code::kE0412,
                 .message = absl::StrCat("padding of ", ShapeText(x), " does not lie within ", ShapeText(shape))};
}

Rule PadRule(Types inputs, const TensorType& output, const Attributes&) {
  return BoxRule(inputs[0].shape, output.shape);
}

void EvaluatePad(const Evaluation& evaluation) {
  PasteBox(*evaluation.inputs[0], evaluation.attributes.GetInts("begin"), evaluation.output);
}

}  // namespace

OpDefinition DefinePad() {
  return OpDefinition{.name = "pad",
                      .op_class = OpClass::kMovement,
                      .callable = false,
                      .signature = {{.name = "x"},
                                    {.name = "begin", .kind = ArgumentKind::kInts},
                                    {.name = "shape", .kind = ArgumentKind::kInts}},
                      .summary = "x at `begin` within zeros of `shape`",
                      .infer = InferPad,
                      .rule = PadRule,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluatePad,
                      .resize = ResizeShape};
}

}  // namespace cleave
