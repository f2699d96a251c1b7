#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

InferResult InferBiasAdd(Types inputs, const Attributes&) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, inputs[0].dtype, "bias")) return *error;
  if (auto error = CheckRank(inputs, 0, 1)) return *error;
  const int64_t features = inputs[0].shape.back();
  if (inputs[1].shape == Shape{features}) return inputs[0];
  return OpError{
      .code = Code::kE0411,
      .message = absl::StrCat("a bias of ", ShapeText(inputs[1].shape), " for ", Plural(features, "feature")),
      .about = {{1, absl::StrCat("is ", ShapeText(inputs[1].shape), " instead of ", features)},
                {0, absl::StrCat("has ", Plural(features, "element"), " in its last dimension")}}};
}

InferResult InferWhole(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kI32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kI32, "y")) return *error;
  return InferBroadcast(inputs, DType::kI32);
}

// (x, y), both i32, with broadcasting.
OpDefinition WholeOp(const Scalar& value, std::string summary) {
  OpDefinition definition = BinaryOp(value, std::move(summary));
  definition.infer = InferWhole;
  definition.gradient = ZeroGradients;
  return definition;
}

OpId BatchBiasAdd(Lift& lift) {
  if (!lift.mapped(1)) return lift.Main(lift.Inputs());
  return lift.Instead(OpKind::kAdd, {lift.value(0), lift.Aligned(1, lift.rank(0))});
}

}  // namespace

OpDefinition DefineAdd() {
  const Scalar x = Variable("x"), y = Variable("y");
  return ArithmeticOp(x + y, "x + y, with broadcasting");
}

OpDefinition DefineSub() {
  const Scalar x = Variable("x"), y = Variable("y");
  return ArithmeticOp(x - y, "x - y, with broadcasting");
}

OpDefinition DefineMul() {
  const Scalar x = Variable("x"), y = Variable("y");
  return ArithmeticOp(x * y, "x * y, with broadcasting");
}

OpDefinition DefineDiv() {
  const Scalar x = Variable("x"), y = Variable("y");
  return BinaryOp(x / y, "x / y, with broadcasting");
}

OpDefinition DefineQuotient() {
  return WholeOp(Quotient(Variable("x"), Variable("y")), "x / y of i32, towards zero, with broadcasting");
}

OpDefinition DefineRemainder() {
  return WholeOp(Remainder(Variable("x"), Variable("y")), "what x / y of i32 leaves, with broadcasting");
}

OpDefinition DefineNeg() { return UnaryOp({.value = -Variable("x")}, "minus each element"); }

OpDefinition DefineScale() {
  const Scalar x = Variable("x"), factor = Variable(attribute::kFactor);
  OpDefinition definition = UnaryOp({.parameters = {"x", attribute::kFactor.name}, .value = factor * x},
                                    "each element times a constant factor");
  definition.signature.push_back(RequiredAttribute(attribute::kFactor));
  return definition;
}

OpDefinition DefineBiasAdd() {
  const Scalar x = Variable("x"), bias = Variable("bias");
  OpDefinition definition =
      ElementwiseOp({.parameters = {"x", "bias"}, .value = x + bias}, {{.name = "x"}, {.name = "bias"}},
                    "x plus a vector along the last dimension");
  definition.treatment = Treatment::kFollow;
  definition.infer = InferBiasAdd;
  definition.batch = BatchBiasAdd;
  return definition;
}

}  // namespace cleave::ir
