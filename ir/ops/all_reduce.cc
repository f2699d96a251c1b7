// Every rank of a group gets the reduction of what its members have. The gradients below hold whether the members'
// values differ or not; ir/differentiate sums them where x is one value (ir/manual).

#include "ir/ops/communicating.h"
#include "ir/ops/define.h"
#include "ir/ops/sources.h"

namespace cleave {
namespace {

InferResult InferAllReduce(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckWord(attributes, attribute::kReduction, {"sum", "max", "min", "prod"})) return *error;
  return inputs[0];
}

OpId AllReduce(GraphBuilder& builder, const Op& op, OpId value, const std::string& reduction, const std::string& name) {
  Attributes attributes = GroupAttributes(op);
  attributes.Set(attribute::kReduction, reduction);
  return builder.Add(OpKind::kAllReduce, {value}, std::move(attributes), name);
}

// Members that hold the extreme value share its gradient in equal parts.
OpId ExtremeGradient(GraphBuilder& builder, const Op& op, OpId dy, const std::string& name) {
  const OpId is_extreme = builder.Add(OpKind::kEqual, {op.inputs[0], op.id}, {}, name);
  const OpId count = AllReduce(builder, op, is_extreme, "sum", name);
  const OpId share = builder.Add(OpKind::kDiv, {dy, count}, {}, name);
  return builder.Add(OpKind::kMul, {is_extreme, share}, {}, name);
}

// dy times the product of the other members' values. Where that product has no zero it is the product of all values
// that are not zero, divided by the own one unless that is zero.
OpId ProductGradient(GraphBuilder& builder, const Op& op, OpId dy, const std::string& name) {
  const OpId x = op.inputs[0];
  const OpId zero = builder.Add(OpKind::kConstant, {}, {{attribute::kValue, 0.0}}, name);
  const OpId is_zero = builder.Add(OpKind::kEqual, {x, zero}, {}, name);
  const OpId divisor = builder.Add(OpKind::kAdd, {x, is_zero}, {}, name);
  const OpId product = AllReduce(builder, op, divisor, "prod", name);
  const OpId zeros = AllReduce(builder, op, is_zero, "sum", name);
  const OpId others_have_none = builder.Add(OpKind::kEqual, {zeros, is_zero}, {}, name);
  const OpId others = builder.Add(OpKind::kDiv, {product, divisor}, {}, name);
  const OpId factor = builder.Add(OpKind::kMul, {others, others_have_none}, {}, name);
  return builder.Add(OpKind::kMul, {dy, factor}, {}, name);
}

Gradients AllReduceGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string& reduction = op.attributes.Get(attribute::kReduction);
  const std::string name = GradientName(op, "x");
  if (reduction == "sum") return {dy};
  if (reduction == "prod") return {ProductGradient(builder, op, dy, name)};
  return {ExtremeGradient(builder, op, dy, name)};
}

}  // namespace

OpDefinition DefineAllReduce() {
  OpDefinition definition = GroupOp("sum, maximum, minimum or product over the ranks of a group");
  definition.signature.push_back(OptionalAttribute(attribute::kReduction, "sum"));
  definition.infer = InferAllReduce;
  definition.gradient = AllReduceGradients;
  return definition;
}

}  // namespace cleave
