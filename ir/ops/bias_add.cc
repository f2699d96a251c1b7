#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/lift.h"

namespace cleave {
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

Gradients BiasAddGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const TensorType bias = builder.type(op.inputs[1]);
  return {dy, SumToType(builder, dy, bias, GradientName(op, "bias"))};
}

std::optional<OpId> BatchBiasAdd(Lift& lift) {
  if (!lift.mapped(1)) return lift.Main(lift.Inputs());
  return lift.Instead(OpKind::kAdd, {lift.value(0), lift.Aligned(1, lift.rank(0))});
}

}  // namespace

OpDefinition DefineBiasAdd() {
  OpDefinition definition = BinaryOp("x plus a vector along the last dimension");
  definition.signature = {{.name = "x"}, {.name = "bias"}};
  definition.infer = InferBiasAdd;
  definition.rule = JointlyLinearRule;
  definition.gradient = BiasAddGradients;
  definition.evaluate = EvaluateBinary<[](double x, double bias) { return x + bias; }>;
  definition.batch = BatchBiasAdd;
  return definition;
}

}  // namespace cleave
