#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/ops/define.h"
#include "ir/ops/reshaping.h"

namespace cleave {
namespace {

InferResult InferReshape(Types inputs, const Attributes& attributes) {
  const Shape& wanted = attributes.Get(attribute::kShape);
  Shape shape = wanted;
  int64_t known = 1;
  int open = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1 && open < 0) {
      open = static_cast<int>(d);
      continue;
    }
    if (auto error = CheckSizes(
            {shape.begin() + static_cast<std::ptrdiff_t>(d), shape.begin() + static_cast<std::ptrdiff_t>(d) + 1},
            "shape")) {
      error->message = absl::StrCat("dimension ", d, " of `shape` is ", shape[d]);
      return *error;
    }
    known = known > kMaxElements / shape[d] ? kMaxElements + 1 : known * shape[d];
  }
  const int64_t elements = inputs[0].elements();
  if (open >= 0 && elements % known == 0) {
    shape[static_cast<size_t>(open)] = elements / known;
    return TensorType{inputs[0].dtype, shape};
  }
  if (open < 0 && known == elements) return TensorType{inputs[0].dtype, shape};
  const std::string wanted_text =
      open < 0 ? absl::StrCat(ShapeText(wanted), " = ",
                              known > kMaxElements ? absl::StrCat("more than ", kMaxElements) : absl::StrCat(known))
               : absl::StrCat(ShapeText(wanted), " needs a multiple of ", known);
  return OpError{.code = Code::kE0403,
                 .message = absl::StrCat("reshape to another number of elements: ", ShapeText(inputs[0].shape), " = ",
                                         elements, ", ", wanted_text),
                 .about = {{0, absl::StrCat("has ", elements, " elements")}},
                 .help = open < 0 ? std::vector<std::string>{"one dimension may be -1: it takes what is left"}
                                  : std::vector<std::string>{}};
}

Rule ReshapeRule(Types inputs, const TensorType& output, const Attributes&) {
  return ReshapingRule(inputs[0].shape, output.shape);
}

}  // namespace

OpDefinition DefineReshape() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .is_alias = true,
                      .signature = {{.name = "x"}, RequiredAttribute(attribute::kShape)},
                      .summary = "the same elements in another shape; one size may be -1",
                      .infer = InferReshape,
                      .rule = ReshapeRule,
                      .gradient = ReshapingGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = CopyElements,
                      .resize = ResizeShape};
}

}  // namespace cleave
