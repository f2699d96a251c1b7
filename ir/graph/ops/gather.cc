// Slices of a tensor by number: `indices` take the place of one dimension. An index that the dimension does not have
// gives zeros, so a rank that holds some of its elements gives these, and the sum over all ranks is the result.

#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/indexing.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

InferResult InferGather(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kI32, "indices")) return *error;
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  return TensorType{DType::kF32, WithDimensions(inputs[0].shape, axis, 1, inputs[1].shape)};
}

Rule GatherRule(Types inputs, const TensorType&, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  Rule rule;
  std::vector<FactorList> x = AddDimensions(rule, inputs[0].shape);
  rule.factors[axis] = {.name = "v", .kind = FactorKind::kReduced, .size = inputs[0].shape[axis]};
  const std::vector<FactorList> indices = AddIndexDimensions(rule, inputs[1].shape, FactorKind::kParallel);
  rule.output = WithDimensions(x, axis, 1, indices);
  rule.inputs = {std::move(x), indices};
  rule.linear = {{0}};
  return rule;
}

Gradients GatherGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const Shape& x = builder.type(op.inputs[0]).shape;
  const size_t axis = AxisOf(op.attributes, static_cast<int>(x.size()));
  return {
      builder.Add(OpKind::kScatterAdd, {dy, op.inputs[1]},
                  {{attribute::kSize, x[axis]}, {attribute::kAxis, static_cast<int64_t>(axis)}}, GradientName(op, "x")),
      std::nullopt};
}

void EvaluateGather(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(x.shape.size()));
  GatherRows(x, *evaluation.inputs[1],
             IndexingOf(x.shape, axis, evaluation.inputs[1]->shape, evaluation.ranges[axis].begin), evaluation.output);
}

int64_t GatherChoices(Types inputs, const Attributes& attributes, int input) {
  return input == 1 ? inputs[0].shape[AxisOf(attributes, inputs[0].rank())] : 0;
}

std::optional<OpId> BatchGather(Lift& lift) {
  const int64_t axis = lift.op().attributes.Get(attribute::kAxis);
  if (!lift.mapped(1)) return lift.Main(lift.Inputs(), {{attribute::kAxis, ShiftedAxis(axis)}});
  if (lift.mapped(0)) return std::nullopt;
  // The elements' dimension stands where the indices do, and moves to the front.
  const int64_t place = axis < 0 ? axis + lift.rank(0) : axis;
  const OpId gathered = lift.Main(lift.Inputs(), {{attribute::kAxis, place}});
  if (place == 0) return gathered;
  std::vector<int64_t> permutation(lift.shape(gathered).size());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + place);
  return lift.Step(OpKind::kTranspose, {gathered}, {{attribute::kPermutation, Before(place, permutation)}});
}

std::vector<KernelCall> GatherCalls(const CallSite& site) {
  const int axis = static_cast<int>(AxisOf(site.attributes, site.type(0).rank()));
  return GatherCall(site, {.x = 0, .axis = axis, .indices = 1});
}

// The transpose of gather: slice i of `updates` is added to slice indices[i] of zeros with `size` slices; indices
// beyond them are left out. A rank computes the slices that it holds.

// The number of dimensions of the result.
int RankOf(Types inputs) { return inputs[0].rank() - inputs[1].rank() + 1; }

InferResult InferScatterAdd(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "updates")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kI32, "indices")) return *error;
  if (auto error = CheckRank(inputs, 0, inputs[1].rank())) return *error;
  if (attributes.Get(attribute::kSize) < 1) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`size` is ", attributes.Get(attribute::kSize)),
                   .notes = {"a dimension has at least 1 element"}};
  }
  const int64_t axis = attributes.Get(attribute::kAxis);
  const int rank = RankOf(inputs);
  if (axis < -rank || axis >= rank) {
    return OpError{.code = Code::kE0404,
                   .message = absl::StrCat("axis ", axis, " of a result with ", Plural(rank, "dimension")),
                   .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))},
                             {1, absl::StrCat("is ", ShapeText(inputs[1].shape))}},
                   .notes = {"the dimensions of `indices` become one"}};
  }
  const Shape& updates = inputs[0].shape;
  const auto first = updates.begin() + static_cast<int64_t>(AxisOf(attributes, rank));
  if (Shape(first, first + inputs[1].rank()) != inputs[1].shape) {
    return OpError{
        .code = Code::kE0411,
        .message = absl::StrCat("updates ", ShapeText(updates), " by indices ", ShapeText(inputs[1].shape)),
        .about = {{1, absl::StrCat("is ", ShapeText(inputs[1].shape))}, {0, absl::StrCat("is ", ShapeText(updates))}},
        .notes = {absl::StrCat("`updates` must have the dimensions of `indices` from dimension ",
                               AxisOf(attributes, rank), " on")}};
  }
  return TensorType{DType::kF32, WithDimensions(updates, AxisOf(attributes, rank), inputs[1].rank(),
                                                {attributes.Get(attribute::kSize)})};
}

Rule ScatterAddRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, output.rank());
  Rule rule;
  rule.output = AddDimensions(rule, output.shape);
  rule.factors[axis].name = "v";
  const std::vector<FactorList> indices = AddIndexDimensions(rule, inputs[1].shape, FactorKind::kReduced);
  rule.inputs = {WithDimensions(rule.output, axis, 1, indices), indices};
  rule.linear = {{0}};
  return rule;
}

Gradients ScatterAddGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kGather, {dy, op.inputs[1]}, {{attribute::kAxis, op.attributes.Get(attribute::kAxis)}},
                      GradientName(op, "updates")),
          std::nullopt};
}

Flops ScatterAddFlops(Types inputs, const TensorType&, const Attributes&) {
  return Flops(static_cast<double>(inputs[0].elements()));
}

void EvaluateScatterAdd(const Evaluation& evaluation) {
  const Shape& y = evaluation.output.shape;
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(y.size()));
  ScatterAddRows(*evaluation.inputs[0], *evaluation.inputs[1],
                 IndexingOf(y, axis, evaluation.inputs[1]->shape, evaluation.ranges[axis].begin), evaluation.output);
}

Attributes ResizeScatterAdd(const Attributes& attributes, const Rule& rule, absl::Span<const int64_t> factor_sizes) {
  const Shape shape = SizesOf(rule.output, factor_sizes);
  Attributes resized = attributes;
  resized.Set(attribute::kSize, shape[AxisOf(attributes, static_cast<int>(shape.size()))]);
  return resized;
}

int64_t ScatterAddChoices(Types, const Attributes& attributes, int input) {
  return input == 1 ? attributes.Get(attribute::kSize) : 0;
}

std::vector<KernelCall> ScatterAddCalls(const CallSite& site) {
  return ScatterAddCall(site, static_cast<int>(AxisOf(site.attributes, site.output.rank())));
}

}  // namespace

OpDefinition DefineGather() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .signature = {{.name = "x"}, {.name = "indices"}, OptionalAttribute(attribute::kAxis, 0)},
                      .summary = "the slices of x along `axis` whose numbers are in `indices`, in their order",
                      .infer = InferGather,
                      .rule = GatherRule,
                      .gradient = GatherGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateGather,
                      .choices = GatherChoices,
                      .batch = BatchGather,
                      .calls = GatherCalls};
}

OpDefinition DefineScatterAdd() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .signature = {{.name = "updates"},
                    {.name = "indices"},
                    RequiredAttribute(attribute::kSize),
                    OptionalAttribute(attribute::kAxis, 0)},
      .summary = "slices of updates added up along `axis` by the numbers in `indices`, into `size` slices",
      .infer = InferScatterAdd,
      .rule = ScatterAddRule,
      .gradient = ScatterAddGradients,
      .flops = ScatterAddFlops,
      .evaluate = EvaluateScatterAdd,
      .resize = ResizeScatterAdd,
      .choices = ScatterAddChoices,
      .batch = BatchAlongAxis,
      .calls = ScatterAddCalls};
}

}  // namespace cleave::ir
