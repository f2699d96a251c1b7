// What makes factors of 8 bits of real numbers (ir/transforms/precision): a tensor is its numbers of 8 bits times its
// unit, a power of two, so that only the rounding to 8 bits loses anything.

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

std::optional<OpError> CheckIs8Bit(const Attributes& attributes) {
  const DType dtype = attributes.Get(attribute::kDType);
  if (Is8Bit(dtype)) return std::nullopt;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`dtype` is `", DTypeName(dtype), "`, and no real number of 8 bits")};
}

InferResult InferUnit(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckIs8Bit(attributes)) return *error;
  return inputs[0];
}

std::vector<double> LargestNumber(const Attributes& attributes, int64_t) {
  return {LargestOf(attributes.Get(attribute::kDType))};
}

InferResult InferQuantize(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kF32, "unit")) return *error;
  if (auto error = CheckIs8Bit(attributes)) return *error;
  const DType dtype = attributes.Get(attribute::kDType);
  if (BroadcastShape(inputs[0].shape, inputs[1].shape) == inputs[0].shape) return TensorType{dtype, inputs[0].shape};
  return OpError{.code = Code::kE0402,
                 .message = absl::StrCat("a unit of shape ", ShapeText(inputs[1].shape)),
                 .about = {{1, absl::StrCat("does not broadcast to ", ShapeText(inputs[0].shape))}}};
}

}  // namespace

// Of the largest magnitude in a tensor: with it, no number is beyond those of the type.
OpDefinition DefineF8Unit() {
  OpDefinition definition =
      UnaryOp({.parameters = {"x", "largest"}, .value = PowerOfTwoFrom(Variable("x") / Variable("largest"))},
              "the unit of a tensor of 8 bits whose largest magnitude is x", LargestNumber);
  definition.callable = false;
  definition.treatment = Treatment::kFloat;
  definition.signature.push_back(RequiredAttribute(attribute::kDType));
  definition.infer = InferUnit;
  definition.gradient = nullptr;
  definition.batch = nullptr;
  return definition;
}

// Like all reference evaluation this does not round. It is linear nowhere, because parts of a sum may be beyond the
// numbers of 8 bits where the sum is not.
OpDefinition DefineQuantize() {
  OpDefinition definition = ElementwiseOp(
      {.parameters = {"x", "unit"}, .value = Variable("x") / Variable("unit")}, {{.name = "x"}, {.name = "unit"}},
      "each element divided by the unit, as a number of 8 bits: the nearest, even where two are, and the "
      "largest beyond it");
  definition.callable = false;
  definition.signature.push_back(RequiredAttribute(attribute::kDType));
  definition.reads_16_bits = {0};
  definition.infer = InferQuantize;
  definition.rule = NowhereLinearRule;
  definition.gradient = nullptr;
  definition.batch = nullptr;
  return definition;
}

}  // namespace cleave::ir
