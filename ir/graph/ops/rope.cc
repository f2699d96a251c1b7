// Rotary position embedding: Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
// section 3.2.2.
//
// Elements i and i + head/2 of the last dimension are a point of the plane that is turned by position * theta^(-2i /
// head): the pairing of GPT-NeoX and Llama. The gradient turns back. The last dimension is (halves, pairs): it cannot
// be cut, because the halves, its major factor, cannot.
//
// Where the sequence lies in zigzag order (zigzag.h) so do the positions.
//
// The op at places has only some positions of a sequence, whose numbers are an input: generation computes one at a
// time, and each element of the first `batch` dimensions has its own.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/indexing.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/zigzag.h"

namespace cleave::ir {
namespace {

InferResult InferRope(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckRank(inputs, 0, 2)) return *error;
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const int64_t head = inputs[0].shape.back();
  if (AxisOf(attributes, inputs[0].rank()) + 1 == inputs[0].shape.size()) {
    return OpError{.code = Code::kE0404,
                   .message = "positions along the last dimension, whose pairs are turned",
                   .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))}},
                   .help = {"`axis` is the dimension of the sequence: axis = -2"}};
  }
  if (head % 2 != 0) {
    return OpError{.code = Code::kE0411,
                   .message = absl::StrCat("the last dimension has ", head, " elements, which do not form pairs"),
                   .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))}}};
  }
  const double theta = attributes.Get(attribute::kTheta);
  if (!(theta > 0) || std::isinf(theta)) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`theta` is ", FormatDouble(theta)),
                   .notes = {"the base of the frequencies is positive and finite"}};
  }
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  if (auto error = CheckZigzag(attributes, inputs[0].shape[axis])) return *error;
  return inputs[0];
}

Rule RopeRule(Types inputs, const TensorType&, const Attributes& attributes) {
  Rule rule;
  const Shape& shape = inputs[0].shape;
  const int64_t head = shape.back();
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  for (size_t d = 0; d + 1 < shape.size(); ++d) {
    const std::string name = absl::StrCat("d", d);
    rule.output.push_back(d == axis ? AddRows(rule, name.c_str(), shape[d], attributes, FactorKind::kParallel)
                                    : FactorList{AddFactor(rule, name, shape[d])});
  }
  const int halves = AddFactor(rule, "h", 2, FactorKind::kWhole);
  rule.factors.back().fixed_size = true;
  rule.output.push_back({halves, AddFactor(rule, "p", head / 2, FactorKind::kWhole)});
  rule.inputs = {rule.output};
  rule.linear = {{0}};
  return rule;
}

Gradients RopeGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  Attributes attributes = op.attributes;
  attributes.Set(attribute::kInverse, !op.attributes.Get(attribute::kInverse));
  return {builder.Add(OpKind::kRope, {dy}, std::move(attributes), GradientName(op, "x"))};
}

// `position_of`: that of a local element along the axis, in the row of elements with this number.
template <typename PositionOf>
void Rotate(const Evaluation& evaluation, PositionOf position_of) {
  const Shape& shape = evaluation.output.shape;
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(shape.size()));
  const int64_t step = Strides(shape)[axis];
  const int64_t head = shape.back();
  const int64_t half = head / 2;
  const double theta = evaluation.attributes.Get(attribute::kTheta);
  const double sign = evaluation.attributes.Get(attribute::kInverse) ? -1 : 1;
  const std::vector<double>& x = evaluation.inputs[0]->values;
  for (int64_t row = 0; row < ElementCount(shape); row += head) {
    const double position = position_of(row / step % shape[axis], row / (step * shape[axis]));
    for (int64_t i = 0; i < half; ++i) {
      const double angle = sign * position * std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head));
      const auto first = static_cast<size_t>(row + i);
      const auto second = static_cast<size_t>(row + half + i);
      evaluation.output.values[first] = x[first] * std::cos(angle) - x[second] * std::sin(angle);
      evaluation.output.values[second] = x[second] * std::cos(angle) + x[first] * std::sin(angle);
    }
  }
}

void EvaluateRope(const Evaluation& evaluation) {
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(evaluation.output.shape.size()));
  const int64_t pairs = PairsOf(evaluation.attributes);
  FactorList rows = {static_cast<int>(axis)};
  if (pairs > 0) rows = {rows[0], rows[0] + 1, rows[0] + 2};
  const int64_t first = RowsOf(rows, evaluation.ranges).begin;
  int64_t whole = 1;
  for (const int factor : rows) whole *= evaluation.ranges[static_cast<size_t>(factor)].global;
  const ZigzagOrder order = {pairs, whole};
  Rotate(evaluation, [&](int64_t i, int64_t) { return static_cast<double>(order.PlaceOf(first + i)); });
}

// A Rotation of the runtime; `places` are its positions.
BracedList RotationOf(const CallSite& site, Field places) {
  const int64_t axis = static_cast<int64_t>(AxisOf(site.attributes, site.output.rank()));
  BracedList rotation = {
      {{axis, "axis"}, std::move(places), {DoubleNumber{site.attributes.Get(attribute::kTheta)}, "theta"}}};
  if (site.attributes.Get(attribute::kInverse)) rotation.fields.push_back({true, "inverse"});
  return rotation;
}

std::vector<KernelCall> RopeCalls(const CallSite& site) {
  const LocalDimension rows = {kResult, static_cast<int>(AxisOf(site.attributes, site.output.rank()))};
  const bool is_zigzag = PairsOf(site.attributes) > 0;
  const BracedList rotation =
      RotationOf(site, is_zigzag ? ZigzagField(site, rows) : Field{FirstIndex{rows}, "first_position", 0});
  return {{"Rope", {Pointer{0}, LocalSizes{0}, rotation, Pointer{kResult}}}};
}

InferResult InferRopeAt(Types inputs, const Attributes& attributes) {
  const InferResult result = InferRope(inputs, attributes);
  if (std::holds_alternative<OpError>(result)) return result;
  if (auto error = CheckPlaces(inputs, 1, AxisOf(attributes, inputs[0].rank()), BatchOf(attributes))) return *error;
  return result;
}

Rule RopeAtRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = RopeRule(inputs, output, attributes);
  std::vector<FactorList> places(rule.output.begin(), rule.output.begin() + static_cast<int64_t>(BatchOf(attributes)));
  places.push_back(rule.output[AxisOf(attributes, output.rank())]);
  rule.inputs.push_back(std::move(places));
  return rule;
}

void EvaluateRopeAt(const Evaluation& evaluation) {
  const Shape& shape = evaluation.output.shape;
  const Tensor& places = *evaluation.inputs[1];
  const auto batch = shape.begin() + static_cast<int64_t>(BatchOf(evaluation.attributes));
  const auto axis = shape.begin() + static_cast<int64_t>(AxisOf(evaluation.attributes, static_cast<int>(shape.size())));
  const int64_t outer = ElementCount(Shape(batch, axis));  // Of one element of the batch.
  Rotate(evaluation, [&](int64_t i, int64_t o) { return places.values[static_cast<size_t>(o / outer * *axis + i)]; });
}

std::vector<KernelCall> RopeAtCalls(const CallSite& site) {
  BracedList rotation = RotationOf(site, {Pointer{1}, "positions"});
  rotation.fields.push_back({site.Elements(0, 0, static_cast<int>(BatchOf(site.attributes))), "batch", 1});
  return {{"Rope", {Pointer{0}, LocalSizes{0}, std::move(rotation), Pointer{kResult}}}};
}

// Each element has places of its own.
OpId BatchRopeAt(Lift& lift) {
  Attributes attributes = lift.op().attributes;
  attributes.Set(attribute::kAxis, ShiftedAxis(attributes.Get(attribute::kAxis)));
  attributes.Set(attribute::kBatch, static_cast<int64_t>(BatchOf(attributes)) + 1);
  return lift.Main({lift.Whole(0), lift.Whole(1)}, std::move(attributes));
}

}  // namespace

OpDefinition DefineRope() {
  return OpDefinition{.op_class = OpClass::kElementwise,
                      .depends_on_place = true,
                      .overwrites = 0,
                      .reads_16_bits = {0},
                      .gives_16_bits = true,
                      .signature = {{.name = "x"},
                                    OptionalAttribute(attribute::kTheta, 10000.0),
                                    OptionalAttribute(attribute::kAxis, -2),
                                    OptionalAttribute(attribute::kInverse, false),
                                    ZigzagArgument()},
                      .summary =
                          "rotary position embedding: pairs (i, i + head/2) of the last dimension, turned by their "
                          "position along `axis`",
                      .infer = InferRope,
                      .rule = RopeRule,
                      .gradient = RopeGradients,
                      .flops = FlopsPerElement<3>,
                      .evaluate = EvaluateRope,
                      .batch = BatchAlongAxis,
                      .calls = RopeCalls};
}

OpDefinition DefineRopeAt() {
  OpDefinition definition = DefineRope();
  definition.callable = false;
  definition.signature.insert(definition.signature.begin() + 1, {.name = "places"});
  definition.signature.back() = BatchArgument();  // Not `zigzag`: places are given.
  definition.summary = "rotary position embedding of some places, whose numbers along `axis` are given";
  definition.infer = InferRopeAt;
  definition.rule = RopeAtRule;
  definition.gradient = nullptr;
  definition.evaluate = EvaluateRopeAt;
  definition.batch = BatchRopeAt;
  definition.calls = RopeAtCalls;
  return definition;
}

}  // namespace cleave::ir
