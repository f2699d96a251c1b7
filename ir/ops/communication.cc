// Communication within a group of ranks, in manual models.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/manual/manual.h"
#include "ir/ops/communicating.h"
#include "ir/ops/lift.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

// Every rank of a group gets the reduction of what its members have. The gradients below hold whether the members'
// values differ or not; ir/differentiate sums them where x is one value (ir/manual).

InferResult InferAllReduce(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckWord(attributes, "reduction", {"sum", "max", "min", "prod"})) return *error;
  return inputs[0];
}

OpId AllReduce(GraphBuilder& builder, const Op& op, OpId value, const std::string& reduction, const std::string& name) {
  std::map<std::string, AttributeValue> attributes = GroupAttributes(op);
  attributes["reduction"] = reduction;
  return builder.Add("all_reduce", {value}, std::move(attributes), name);
}

// Members that hold the extreme value share its gradient in equal parts.
OpId ExtremeGradient(GraphBuilder& builder, const Op& op, OpId dy, const std::string& name) {
  const OpId is_extreme = builder.Add("equal", {op.inputs[0], op.id}, {}, name);
  const OpId count = AllReduce(builder, op, is_extreme, "sum", name);
  const OpId share = builder.Add("div", {dy, count}, {}, name);
  return builder.Add("mul", {is_extreme, share}, {}, name);
}

// dy times the product of the other members' values. Where that product has no zero it is the product of all values
// that are not zero, divided by the own one unless that is zero.
OpId ProductGradient(GraphBuilder& builder, const Op& op, OpId dy, const std::string& name) {
  const OpId x = op.inputs[0];
  const OpId zero = builder.Add("constant", {}, {{"value", 0.0}}, name);
  const OpId is_zero = builder.Add("equal", {x, zero}, {}, name);
  const OpId divisor = builder.Add("add", {x, is_zero}, {}, name);
  const OpId product = AllReduce(builder, op, divisor, "prod", name);
  const OpId zeros = AllReduce(builder, op, is_zero, "sum", name);
  const OpId others_have_none = builder.Add("equal", {zeros, is_zero}, {}, name);
  const OpId others = builder.Add("div", {product, divisor}, {}, name);
  const OpId factor = builder.Add("mul", {others, others_have_none}, {}, name);
  return builder.Add("mul", {dy, factor}, {}, name);
}

Gradients AllReduceGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string& reduction = op.attributes.GetString("reduction");
  const std::string name = GradientName(op, "x");
  if (reduction == "sum") return {dy};
  if (reduction == "prod") return {ProductGradient(builder, op, dy, name)};
  return {ExtremeGradient(builder, op, dy, name)};
}

// Every rank of a group gets the parts of all members, in the order of their numbers.

InferResult InferAllGather(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, "axis")) return *error;
  TensorType output = inputs[0];
  // At most the limit each, so that the product does not overflow; InferChecked refuses the shape.
  int64_t& elements = output.shape[AxisOf(attributes, output.rank())];
  elements = CountUpToLimit({elements, std::min(attributes.GetInt("size"), kMaxElements)});
  return output;
}

// Each member takes its own part.
Gradients AllGatherGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::vector<RankAxis> axes = builder.graph().rank_axes;
  const RankAxisSet group = GroupOf(axes, op.attributes.GetString("group"));
  const int64_t axis = op.attributes.GetInt("axis");
  const int64_t own = builder.type(op.inputs[0]).shape[static_cast<size_t>(axis)];
  const std::vector<int64_t> starts =
      RankTable(builder, [&](int64_t rank) { return own * GroupIndex(axes, group, rank); });
  return {builder.Add("rank_slice", {dy}, {{"axis", axis}, {"size", own}, {"starts", starts}}, GradientName(op, "x"))};
}

// The sum of what the members of a group have, of which each rank gets its part.

InferResult InferReduceScatter(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, "axis")) return *error;
  if (auto error = CheckDivides(inputs, attributes, "axis")) return *error;
  TensorType output = inputs[0];
  output.shape[AxisOf(attributes, output.rank())] /= attributes.GetInt("size");
  return output;
}

Gradients ReduceScatterGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  std::map<std::string, AttributeValue> attributes = GroupAttributes(op);
  attributes["axis"] = op.attributes.GetInt("axis");
  return {builder.Add("all_gather", {dy}, std::move(attributes), GradientName(op, "x"))};
}

// Every rank of a group gets what one member has.

InferResult InferBroadcastFrom(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  const int64_t root = attributes.GetInt("root");
  const int64_t size = attributes.GetInt("size");
  if (root >= 0 && root < size) return inputs[0];
  return OpError{.code = Code::kE0709,
                 .message = absl::StrCat("`root` is ", root, " in a group of ", Plural(size, "rank")),
                 .about = {},
                 .help = {absl::StrCat("the members of the group are 0 to ", size - 1)}};
}

// All of it at the root, nothing elsewhere.
Gradients BroadcastGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::vector<RankAxis> axes = builder.graph().rank_axes;
  const RankAxisSet group = GroupOf(axes, op.attributes.GetString("group"));
  std::vector<double> is_root;
  for (int64_t rank = 0; rank < RankCount(axes); ++rank) {
    is_root.push_back(GroupIndex(axes, group, rank) == op.attributes.GetInt("root") ? 1 : 0);
  }
  const OpId share = builder.Add("rank_value", {}, {{"values", is_root}}, GradientName(op, "root"));
  return {builder.Add("mul", {dy, share}, {}, GradientName(op, "x"))};
}

// Every rank of a group cuts its tensor along one dimension, a part for each member, and joins the parts that it gets
// along another, in the order of the members.

InferResult InferAllToAll(Types inputs, const Attributes& attributes) {
  if (auto error = CheckGroupSize(attributes)) return *error;
  if (auto error = CheckDimension(inputs, attributes, "split_axis")) return *error;
  if (auto error = CheckDimension(inputs, attributes, "concat_axis")) return *error;
  if (auto error = CheckDivides(inputs, attributes, "split_axis")) return *error;
  TensorType output = inputs[0];
  const int64_t size = attributes.GetInt("size");
  output.shape[static_cast<size_t>(attributes.GetInt("split_axis"))] /= size;
  int64_t& joined = output.shape[static_cast<size_t>(attributes.GetInt("concat_axis"))];
  joined = CountUpToLimit({joined, std::min(size, kMaxElements)});
  return output;
}

// Every part goes back to where it came from.
Gradients AllToAllGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  std::map<std::string, AttributeValue> attributes = GroupAttributes(op);
  attributes["split_axis"] = op.attributes.GetInt("concat_axis");
  attributes["concat_axis"] = op.attributes.GetInt("split_axis");
  return {builder.Add("all_to_all", {dy}, std::move(attributes), GradientName(op, "x"))};
}

std::optional<OpId> BatchAllToAll(Lift& lift) {
  Lift::Values attributes = lift.op().attributes.values;
  attributes["split_axis"] = ShiftedAxis(lift.op().attributes.GetInt("split_axis"));
  attributes["concat_axis"] = ShiftedAxis(lift.op().attributes.GetInt("concat_axis"));
  return lift.Main(lift.Inputs(), attributes);
}

}  // namespace

OpDefinition DefineAllReduce() {
  OpDefinition definition = GroupOp("all_reduce", "sum, maximum, minimum or product over the ranks of a group");
  definition.signature.push_back(
      {.name = "reduction", .kind = ArgumentKind::kString, .default_value = std::string("sum")});
  definition.infer = InferAllReduce;
  definition.gradient = AllReduceGradients;
  definition.batch = BatchSame;
  return definition;
}

OpDefinition DefineAllGather() {
  OpDefinition definition =
      GroupOp("all_gather", "the parts of all ranks of a group, one after another along a dimension");
  definition.signature.push_back({.name = "axis", .kind = ArgumentKind::kInt});
  definition.infer = InferAllGather;
  definition.gradient = AllGatherGradients;
  definition.batch = BatchAlongAxis;
  return definition;
}

OpDefinition DefineReduceScatter() {
  OpDefinition definition =
      GroupOp("reduce_scatter", "the rank's part, along a dimension, of the sum over the ranks of a group");
  definition.signature.push_back({.name = "axis", .kind = ArgumentKind::kInt});
  definition.infer = InferReduceScatter;
  definition.gradient = ReduceScatterGradients;
  definition.batch = BatchAlongAxis;
  return definition;
}

OpDefinition DefineBroadcast() {
  OpDefinition definition = GroupOp("broadcast", "what member `root` of a group has");
  definition.signature.push_back({.name = "root", .kind = ArgumentKind::kInt, .default_value = int64_t{0}});
  definition.infer = InferBroadcastFrom;
  definition.gradient = BroadcastGradients;
  definition.batch = BatchSame;
  return definition;
}

OpDefinition DefineAllToAll() {
  OpDefinition definition =
      GroupOp("all_to_all", "a part along `split_axis` for each rank of a group, joined along `concat_axis`");
  definition.signature.push_back({.name = "split_axis", .kind = ArgumentKind::kInt});
  definition.signature.push_back({.name = "concat_axis", .kind = ArgumentKind::kInt});
  definition.infer = InferAllToAll;
  definition.gradient = AllToAllGradients;
  definition.batch = BatchAllToAll;
  return definition;
}

}  // namespace cleave
