#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/reshaping.h"

namespace cleave {
namespace {

// A tensor with `start` dimensions gets a last one of size 1.
InferResult InferFlatten(Types inputs, const Attributes& attributes) {
  const int64_t start = attributes.Get(attribute::kStart);
  const Shape& shape = inputs[0].shape;
  if (start < 0 || start > inputs[0].rank()) {
    return OpError{.code = Code::kE0404,
                   .message = absl::StrCat("`flatten` from dimension ", start, " of ", inputs[0].rank()),
                   .about = {{0, absl::StrCat("is ", ShapeText(shape))}}};
  }
  Shape flat(shape.begin(), shape.begin() + start);
  int64_t rest = 1;
  for (size_t d = static_cast<size_t>(start); d < shape.size(); ++d) rest *= shape[d];
  flat.push_back(rest);
  return TensorType{inputs[0].dtype, flat};
}

Rule FlattenRule(Types inputs, const TensorType& output, const Attributes&) {
  return ReshapingRule(inputs[0].shape, output.shape);
}

}  // namespace

OpDefinition DefineFlatten() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .is_alias = true,
                      .signature = {{.name = "x"}, OptionalAttribute(attribute::kStart, 1)},
                      .summary = "all dimensions from `start` on as one",
                      .infer = InferFlatten,
                      .rule = FlattenRule,
                      .gradient = ReshapingGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = CopyElements};
}

}  // namespace cleave
