// Slices of a tensor by number: `indices` take the place of one dimension. An index that the dimension does not have
// gives zeros, so a rank that holds some of its elements gives these, and the sum over all ranks is the result.
//
// `batch`: so many first dimensions are the same in both tensors, and each of their elements is looked up by itself:
// y[e, i, :] = x[e, indices[e, i], :].

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/indexing.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

// Factors of the dimensions of `indices`: the first are those that `x` has too, the others are new.
std::vector<FactorList> IndexFactors(Rule& rule, const std::vector<FactorList>& x, size_t batch, const Shape& indices,
                                     FactorKind kind) {
  const auto shared = static_cast<int64_t>(batch);
  std::vector<FactorList> dimensions(x.begin(), x.begin() + shared);
  for (FactorList& own : AddIndexDimensions(rule, Shape(indices.begin() + shared, indices.end()), kind)) {
    dimensions.push_back(std::move(own));
  }
  return dimensions;
}

// The dimensions of `indices` behind those that both tensors have.
template <typename T>
std::vector<T> Own(const std::vector<T>& indices, size_t batch) {
  return std::vector<T>(indices.begin() + static_cast<int64_t>(batch), indices.end());
}

// An error unless the tensors agree in the dimensions of `batch`, and `axis`, counted from the front, comes after them.
std::optional<OpError> CheckBatch(Types inputs, size_t batch, size_t axis) {
  const Shape& x = inputs[0].shape;
  const Shape& indices = inputs[1].shape;
  if (batch <= std::min({axis, x.size(), indices.size()}) &&
      std::equal(x.begin(), x.begin() + static_cast<int64_t>(batch), indices.begin())) {
    return std::nullopt;
  }
  return OpError{.code = Code::kE0411,
                 .message = absl::StrCat(ShapeText(x), " and indices ", ShapeText(indices), " do not share ",
                                         Plural(static_cast<int64_t>(batch), "dimension"), " before axis ", axis)};
}

InferResult InferGather(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 1, DType::kI32, "indices")) return *error;
  if (inputs[0].dtype != DType::kI32) {
    if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  }
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  const size_t batch = BatchOf(attributes);
  if (auto error = CheckBatch(inputs, batch, axis)) return *error;
  return TensorType{inputs[0].dtype, WithDimensions(inputs[0].shape, axis, 1, Own(inputs[1].shape, batch))};
}

Rule GatherRule(Types inputs, const TensorType&, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  Rule rule;
  std::vector<FactorList> x = AddDimensions(rule, inputs[0].shape);
  rule.factors[axis] = {.name = "v", .kind = FactorKind::kReduced, .size = inputs[0].shape[axis]};
  const size_t batch = BatchOf(attributes);
  const std::vector<FactorList> indices = IndexFactors(rule, x, batch, inputs[1].shape, FactorKind::kParallel);
  rule.output = WithDimensions(x, axis, 1, Own(indices, batch));
  rule.inputs = {std::move(x), indices};
  rule.linear = {{0}};
  return rule;
}

Gradients GatherGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  if (op.type.dtype == DType::kI32) return {std::nullopt, std::nullopt};
  const Shape& x = builder.type(op.inputs[0]).shape;
  const size_t axis = AxisOf(op.attributes, static_cast<int>(x.size()));
  Attributes attributes = Along(op, static_cast<int64_t>(axis), BatchOf(op.attributes));
  attributes.Set(attribute::kSize, x[axis]);
  return {builder.Add(OpKind::kScatterAdd, {dy, op.inputs[1]}, std::move(attributes), GradientName(op, "x")),
          std::nullopt};
}

void EvaluateGather(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(x.shape.size()));
  const Tensor& indices = *evaluation.inputs[1];
  GatherRows(x, indices,
             IndexingOf(x.shape, axis, BatchOf(evaluation.attributes), indices.shape, evaluation.ranges[axis].begin),
             evaluation.output);
}

int64_t GatherChoices(Types inputs, const Attributes& attributes, int input) {
  return input == 1 ? inputs[0].shape[AxisOf(attributes, inputs[0].rank())] : 0;
}

// The dimension of the elements stands before that which is looked up: a further one of `batch` where both tensors have
// it, one of x, or in the place of the indices, from where it moves to the front.
OpId BatchGather(Lift& lift) {
  const int64_t axis = static_cast<int64_t>(AxisOf(lift.op().attributes, lift.rank(0)));
  const size_t batch = BatchOf(lift.op().attributes);
  const auto front = static_cast<int64_t>(batch);
  if (lift.mapped(0) && lift.mapped(1)) return lift.Main(lift.Inputs(), Along(lift.op(), axis + 1, batch + 1));
  if (lift.mapped(0)) {
    const OpId x = lift.Moved(lift.value(0), 0, front);
    return lift.Moved(lift.Main({x, lift.value(1)}, Along(lift.op(), axis + 1, batch)), front, 0);
  }
  const OpId indices = lift.Moved(lift.value(1), 0, front);
  return lift.Moved(lift.Main({lift.value(0), indices}, Along(lift.op(), axis, batch)), axis, 0);
}

std::vector<KernelCall> GatherCalls(const CallSite& site) {
  const int axis = static_cast<int>(AxisOf(site.attributes, site.type(0).rank()));
  const int batch = static_cast<int>(BatchOf(site.attributes));
  return GatherCall(site, {.x = 0, .axis = axis, .indices = 1, .batch = batch});
}

// The transpose of gather: slice i of `updates` is added to slice indices[i] of zeros with `size` slices; indices
// beyond them are left out. A rank computes the slices that it holds.

// The number of dimensions of `indices` that become one.
int IndexRank(Types inputs, const Attributes& attributes) {
  return inputs[1].rank() - static_cast<int>(BatchOf(attributes));
}

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
  const size_t batch = BatchOf(attributes);
  if (auto error = CheckBatch(inputs, batch, inputs[1].shape.size())) return *error;
  const int index_rank = IndexRank(inputs, attributes);
  const int rank = inputs[0].rank() - index_rank + 1;
  if (axis < -rank || axis >= rank) {
    return OpError{.code = Code::kE0404,
                   .message = absl::StrCat("axis ", axis, " of a result with ", Plural(rank, "dimension")),
                   .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))},
                             {1, absl::StrCat("is ", ShapeText(inputs[1].shape))}},
                   .notes = {"the dimensions of `indices` become one"}};
  }
  if (auto error = CheckBatch(inputs, batch, AxisOf(attributes, rank))) return *error;
  const Shape& updates = inputs[0].shape;
  const auto first = updates.begin() + static_cast<int64_t>(AxisOf(attributes, rank));
  if (Shape(first, first + index_rank) != Own(inputs[1].shape, batch)) {
    return OpError{
        .code = Code::kE0411,
        .message = absl::StrCat("updates ", ShapeText(updates), " by indices ", ShapeText(inputs[1].shape)),
        .about = {{1, absl::StrCat("is ", ShapeText(inputs[1].shape))}, {0, absl::StrCat("is ", ShapeText(updates))}},
        .notes = {absl::StrCat("`updates` must have the dimensions of `indices` from dimension ",
                               AxisOf(attributes, rank), " on")}};
  }
  return TensorType{DType::kF32,
                    WithDimensions(updates, AxisOf(attributes, rank), index_rank, {attributes.Get(attribute::kSize)})};
}

Rule ScatterAddRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, output.rank());
  Rule rule;
  rule.output = AddDimensions(rule, output.shape);
  rule.factors[axis].name = "v";
  const size_t batch = BatchOf(attributes);
  const std::vector<FactorList> indices =
      IndexFactors(rule, rule.output, batch, inputs[1].shape, SummedPlaces(attributes));
  rule.inputs = {WithDimensions(rule.output, axis, 1, Own(indices, batch)), indices};
  rule.linear = {{0}};
  return rule;
}

Gradients ScatterAddGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kGather, {dy, op.inputs[1]}, PlaceOfSlices(op), GradientName(op, "updates")),
          std::nullopt};
}

Flops ScatterAddFlops(Types inputs, const TensorType&, const Attributes&) {
  return Flops(static_cast<double>(inputs[0].elements()));
}

void EvaluateScatterAdd(const Evaluation& evaluation) {
  const Shape& y = evaluation.output.shape;
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(y.size()));
  const Tensor& indices = *evaluation.inputs[1];
  ScatterAddRows(*evaluation.inputs[0], indices,
                 IndexingOf(y, axis, BatchOf(evaluation.attributes), indices.shape, evaluation.ranges[axis].begin),
                 evaluation.output);
}

std::vector<KernelCall> ScatterAddCalls(const CallSite& site) {
  return ScatterAddCall(site, static_cast<int>(AxisOf(site.attributes, site.output.rank())),
                        static_cast<int>(BatchOf(site.attributes)));
}

// Slices of x replaced by those of `updates`, by number. Those that are not there are left out, so a rank replaces the
// slices that it holds. Where no other op reads x afterwards, its memory becomes that of the result.

InferResult InferScatter(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kF32, "updates")) return *error;
  auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (OpError* error = std::get_if<OpError>(&axes)) return *error;
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  if (inputs[1].rank() != inputs[0].rank() ||
      WithDimensions(inputs[0].shape, axis, 1, {inputs[1].shape[axis]}) != inputs[1].shape) {
    return OpError{.code = Code::kE0411,
                   .message = absl::StrCat("slices ", ShapeText(inputs[1].shape), " of ", ShapeText(inputs[0].shape),
                                           " along dimension ", axis)};
  }
  if (auto error = CheckPlaces(Types({inputs[1], inputs[2]}), 1, axis, BatchOf(attributes))) return *error;
  return inputs[0];
}

Rule ScatterRule(Types inputs, const TensorType&, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, inputs[0].rank());
  Rule rule;
  rule.output = AddDimensions(rule, inputs[0].shape);
  const FactorList place = {AddFactor(rule, "i", inputs[1].shape[axis], FactorKind::kWhole)};
  std::vector<FactorList> places(rule.output.begin(), rule.output.begin() + static_cast<int64_t>(BatchOf(attributes)));
  places.push_back(place);
  rule.inputs = {rule.output, WithDimensions(rule.output, axis, 1, {place}), std::move(places)};
  rule.linear = {{0, 1}};
  return rule;
}

void EvaluateScatter(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(x.shape.size()));
  const Tensor& indices = *evaluation.inputs[2];
  evaluation.output.values = x.values;
  ScatterRows(*evaluation.inputs[1], indices,
              IndexingOf(x.shape, axis, BatchOf(evaluation.attributes), indices.shape, evaluation.ranges[axis].begin),
              evaluation.output);
}

// Each element has places of its own.
OpId BatchScatter(Lift& lift) {
  const int64_t axis = static_cast<int64_t>(AxisOf(lift.op().attributes, lift.rank(0)));
  return lift.Main({lift.Whole(0), lift.Whole(1), lift.Whole(2)},
                   Along(lift.op(), axis + 1, BatchOf(lift.op().attributes) + 1));
}

int64_t ScatterChoices(Types inputs, const Attributes& attributes, int input) {
  return input == 2 ? inputs[0].shape[AxisOf(attributes, inputs[0].rank())] : 0;
}

std::vector<KernelCall> ScatterCalls(const CallSite& site) {
  return ScatterCall(site, static_cast<int>(AxisOf(site.attributes, site.output.rank())),
                     static_cast<int>(BatchOf(site.attributes)));
}

}  // namespace

OpDefinition DefineGather() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .looks_up = 0,
      .reads_16_bits = {0},
      .gives_16_bits = true,
      .signature = {{.name = "x"}, {.name = "indices"}, OptionalAttribute(attribute::kAxis, 0), BatchArgument()},
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
      .reads_16_bits = {0},
      .signature = {{.name = "updates"},
                    {.name = "indices"},
                    RequiredAttribute(attribute::kSize),
                    OptionalAttribute(attribute::kAxis, 0),
                    BatchArgument(),
                    ByRowsArgument()},
      .summary = "slices of updates added up along `axis` by the numbers in `indices`, into `size` slices",
      .infer = InferScatterAdd,
      .rule = ScatterAddRule,
      .gradient = ScatterAddGradients,
      .flops = ScatterAddFlops,
      .evaluate = EvaluateScatterAdd,
      .resize = ResizeSlices,
      .choices = SliceChoices,
      .batch = BatchSlices,
      .calls = ScatterAddCalls};
}

OpDefinition DefineScatter() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .works_in_place = true,
      .callable = false,
      .reads_16_bits = {0, 1},
      .gives_16_bits = true,
      .signature = {{.name = "x"},
                    {.name = "updates"},
                    {.name = "places"},
                    OptionalAttribute(attribute::kAxis, 0),
                    BatchArgument()},
      .summary = "x with the slices along `axis` whose numbers are in `places` replaced by those of updates",
      .infer = InferScatter,
      .rule = ScatterRule,
      .flops = FlopsPerElement<0>,
      .evaluate = EvaluateScatter,
      .choices = ScatterChoices,
      .batch = BatchScatter,
      .calls = ScatterCalls};
}

}  // namespace cleave::ir
