// Communication within a group of ranks, in manual models.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/ops/communicating.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

// Every rank of a group gets the reduction of its members' values. The gradients below are right whether the members'
// values differ or not; ir/transforms/differentiate sums them where x is one value (ir/graph/manual).

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

// Members that hold the extreme value share its gradient in equal parts. It is asked for again: an x that is computed
// again may differ in the last bits from the one whose extreme is known.
OpId ExtremeGradient(GraphBuilder& builder, const Op& op, OpId dy, const std::string& name) {
  const OpId x = op.inputs[0];
  const OpId extreme = AllReduce(builder, op, x, op.attributes.Get(attribute::kReduction), name);
  const OpId is_extreme = builder.Add(OpKind::kEqual, {x, extreme}, {}, name);
  const OpId count = AllReduce(builder, op, is_extreme, "sum", name);
  const OpId share = builder.Add(OpKind::kDiv, {dy, count}, {}, name);
  return builder.Add(OpKind::kMul, {is_extreme, share}, {}, name);
}

// dy times the product of the other members' values. Where that product has no zero it is the product of all values
// that are not zero, divided by the rank's own value unless that is zero.
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

// Every rank of a group gets the parts of all members, in the order of their numbers.

InferResult InferAllGather(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, attribute::kAxis)) return *error;
  TensorType output = inputs[0];
  // Each factor is at most the limit, so that the product does not overflow; InferChecked refuses the shape.
  int64_t& elements = output.shape[AxisOf(attributes, output.rank())];
  elements = CountUpToLimit({elements, std::min(attributes.Get(attribute::kSize), kMaxElements)});
  return output;
}

// Each member takes its own part.
Gradients AllGatherGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::vector<RankAxis> axes = builder.graph().rank_axes;
  const RankAxisSet group = GroupOf(axes, op.attributes.Get(attribute::kGroup));
  const int64_t axis = op.attributes.Get(attribute::kAxis);
  const int64_t own = builder.type(op.inputs[0]).shape[static_cast<size_t>(axis)];
  const std::vector<int64_t> starts =
      RankTable(builder, [&](int64_t rank) { return own * GroupIndex(axes, group, rank); });
  return {builder.Add(OpKind::kRankSlice, {dy},
                      {{attribute::kAxis, axis}, {attribute::kSize, own}, {attribute::kStarts, starts}},
                      GradientName(op, "x"))};
}

// Computes the sum of the group members' values, of which each rank gets its part.

InferResult InferReduceScatter(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, attribute::kAxis)) return *error;
  if (auto error = CheckDivides(inputs, attributes, attribute::kAxis)) return *error;
  TensorType output = inputs[0];
  output.shape[AxisOf(attributes, output.rank())] /= attributes.Get(attribute::kSize);
  return output;
}

Gradients ReduceScatterGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  Attributes attributes = GroupAttributes(op);
  attributes.Set(attribute::kAxis, op.attributes.Get(attribute::kAxis));
  return {builder.Add(OpKind::kAllGather, {dy}, std::move(attributes), GradientName(op, "x"))};
}

// Every rank of a group gets the value of one member.

InferResult InferBroadcastFrom(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  const int64_t root = attributes.Get(attribute::kRoot);
  const int64_t size = attributes.Get(attribute::kSize);
  if (root >= 0 && root < size) return inputs[0];
  return OpError{.code = Code::kE0709,
                 .message = absl::StrCat("`root` is ", root, " in a group of ", Plural(size, "rank")),
                 .about = {},
                 .help = {absl::StrCat("the members of the group are 0 to ", size - 1)}};
}

// The root gets all of it, the other members zero.
Gradients BroadcastGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::vector<RankAxis> axes = builder.graph().rank_axes;
  const RankAxisSet group = GroupOf(axes, op.attributes.Get(attribute::kGroup));
  std::vector<double> is_root;
  for (int64_t rank = 0; rank < RankCount(axes); ++rank) {
    is_root.push_back(GroupIndex(axes, group, rank) == op.attributes.Get(attribute::kRoot) ? 1 : 0);
  }
  const OpId share = builder.Add(OpKind::kRankValue, {}, {{attribute::kValues, is_root}}, GradientName(op, "root"));
  return {builder.Add(OpKind::kMul, {dy, share}, {}, GradientName(op, "x"))};
}

// Every rank of a group cuts its tensor along one dimension, a part for each member, and joins the parts that it gets
// along another, in the order of the members.

InferResult InferAllToAll(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, attribute::kSplitAxis)) return *error;
  if (auto error = CheckDimension(inputs, attributes, attribute::kConcatAxis)) return *error;
  if (auto error = CheckDivides(inputs, attributes, attribute::kSplitAxis)) return *error;
  TensorType output = inputs[0];
  const int64_t size = attributes.Get(attribute::kSize);
  output.shape[static_cast<size_t>(attributes.Get(attribute::kSplitAxis))] /= size;
  int64_t& joined = output.shape[static_cast<size_t>(attributes.Get(attribute::kConcatAxis))];
  joined = CountUpToLimit({joined, std::min(size, kMaxElements)});
  return output;
}

// Every part goes back to where it came from.
Gradients AllToAllGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  Attributes attributes = GroupAttributes(op);
  attributes.Set(attribute::kSplitAxis, op.attributes.Get(attribute::kConcatAxis));
  attributes.Set(attribute::kConcatAxis, op.attributes.Get(attribute::kSplitAxis));
  return {builder.Add(OpKind::kAllToAll, {dy}, std::move(attributes), GradientName(op, "x"))};
}

OpId BatchAllToAll(Lift& lift) {
  Attributes attributes = lift.op().attributes;
  attributes.Set(attribute::kSplitAxis, ShiftedAxis(lift.op().attributes.Get(attribute::kSplitAxis)));
  attributes.Set(attribute::kConcatAxis, ShiftedAxis(lift.op().attributes.Get(attribute::kConcatAxis)));
  return lift.Main(lift.Inputs(), attributes);
}

}  // namespace

OpDefinition DefineAllReduce() {
  OpDefinition definition = GroupOp("sum, maximum, minimum or product over the ranks of a group");
  definition.signature.push_back(OptionalAttribute(attribute::kReduction, "sum"));
  definition.infer = InferAllReduce;
  definition.gradient = AllReduceGradients;
  definition.batch = BatchSame;
  return definition;
}

OpDefinition DefineAllGather() {
  OpDefinition definition = GroupOp("the parts of all ranks of a group, one after another along a dimension");
  definition.signature.push_back(RequiredAttribute(attribute::kAxis));
  definition.infer = InferAllGather;
  definition.gradient = AllGatherGradients;
  definition.batch = BatchAlongAxis;
  return definition;
}

OpDefinition DefineReduceScatter() {
  OpDefinition definition = GroupOp("the rank's part, along a dimension, of the sum over the ranks of a group");
  definition.signature.push_back(RequiredAttribute(attribute::kAxis));
  definition.infer = InferReduceScatter;
  definition.gradient = ReduceScatterGradients;
  definition.batch = BatchAlongAxis;
  return definition;
}

OpDefinition DefineBroadcast() {
  OpDefinition definition = GroupOp("the value of member `root` of a group");
  definition.signature.push_back(OptionalAttribute(attribute::kRoot, 0));
  definition.infer = InferBroadcastFrom;
  definition.gradient = BroadcastGradients;
  definition.batch = BatchSame;
  return definition;
}

OpDefinition DefineAllToAll() {
  OpDefinition definition = GroupOp("a part along `split_axis` for each rank of a group, joined along `concat_axis`");
  definition.signature.push_back(RequiredAttribute(attribute::kSplitAxis));
  definition.signature.push_back(RequiredAttribute(attribute::kConcatAxis));
  definition.infer = InferAllToAll;
  definition.gradient = AllToAllGradients;
  definition.batch = BatchAllToAll;
  return definition;
}

}  // namespace cleave::ir
