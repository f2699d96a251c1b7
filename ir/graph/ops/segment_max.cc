// The largest elements of slices that have one number, as of the edges that end at a node of a graph. Where the slices
// are cut, each rank has the largest of its own, and the maximum over the ranks is the result.
//
// The gradient goes to the first of the elements that are the largest: `segment_argmax` finds their places, and
// `segment_max_gradient` gives dy to these. Where the slices are cut, the places are those at which x equals its
// maximum (`segment_first`), the smallest over the ranks.
//
// Sizes: x [b.., o.., n, i..] with a number [b.., n] for each slice gives [b.., o.., size, i..]; b are the dimensions
// of `batch`.

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/indexing.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/need.h"
#include "ir/graph/ops/ranking.h"
#include "ir/graph/ops/rows.h"

namespace cleave::ir {
namespace {

// The shape of the numbers of slices of a tensor.
Shape NumbersOf(const Shape& x, size_t axis, size_t batch) {
  Shape shape(x.begin(), x.begin() + static_cast<int64_t>(batch));
  shape.push_back(x[axis]);
  return shape;
}

// An error unless input `numbers` has a number for each slice of input 0.
std::optional<OpError> CheckNumbered(Types inputs, int numbers, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, numbers, DType::kI32, "indices")) return error;
  if (auto error = CheckAxis(inputs, attributes)) return error;
  const auto axis = static_cast<size_t>(AxisOf(inputs[0], attributes));
  const Shape& shape = inputs[static_cast<size_t>(numbers)].shape;
  const size_t batch = BatchOf(attributes);
  if (batch <= axis && shape == NumbersOf(inputs[0].shape, axis, batch)) return std::nullopt;
  return OpError{.code = Code::kE0411,
                 .message = absl::StrCat("numbers ", ShapeText(shape), " for the slices of ",
                                         ShapeText(inputs[0].shape), " along axis ", axis),
                 .about = {{numbers, absl::StrCat("is ", ShapeText(shape))},
                           {0, absl::StrCat("is ", ShapeText(inputs[0].shape))}}};
}

// The same for an input that has results for the slices of x, or of which x are the slices.
std::optional<OpError> CheckRowsOf(Types inputs, int rows, const Attributes& attributes) {
  const auto axis = static_cast<size_t>(AxisOf(inputs[0], attributes));
  Shape shape = inputs[static_cast<size_t>(rows)].shape;
  if (shape.size() == inputs[0].shape.size()) shape[axis] = inputs[0].shape[axis];
  if (shape == inputs[0].shape) return std::nullopt;
  return CheckSameShape(inputs, 0, rows, "y");
}

InferResult InferSegmentMax(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckNumbered(inputs, 1, attributes)) return *error;
  if (auto error = CheckSizes({attributes.Get(attribute::kSize)}, "size")) return *error;
  if (auto error = CheckFinite(attributes, attribute::kFill)) return *error;
  TensorType output = inputs[0];
  output.shape[AxisOf(attributes, output.rank())] = attributes.Get(attribute::kSize);
  return output;
}

// The factors of a tensor with results, and those of one with slices and of their numbers.
struct SegmentFactors {
  std::vector<FactorList> results, slices, numbers;

  SegmentFactors(Rule& rule, const Shape& of_results, int64_t count, size_t axis, size_t batch) {
    results = AddDimensions(rule, of_results);
    rule.factors[axis].name = "v";
    slices = results;
    slices[axis] = {AddFactor(rule, "n", count)};
    numbers.assign(slices.begin(), slices.begin() + static_cast<int64_t>(batch));
    numbers.push_back(slices[axis]);
  }
};

Rule SegmentMaxRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, output.rank());
  Rule rule;
  const SegmentFactors factors(rule, output.shape, inputs[0].shape[axis], axis, BatchOf(attributes));
  rule.factors.back().kind = FactorKind::kReduced;
  rule.factors.back().reduction = Reduction::kMax;
  rule.inputs = {factors.slices, factors.numbers};
  rule.output = factors.results;
  return rule;
}

Gradients SegmentMaxGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::string name = GradientName(op, "x");
  const OpId first = builder.Add(OpKind::kSegmentArgmax, {op.inputs[0], op.inputs[1]}, op.attributes, name);
  return {builder.Add(OpKind::kSegmentMaxGradient, {dy, first, op.inputs[1]}, PlaceOfSlices(op), name), std::nullopt};
}

// Calls visit(element of the results, element of the slices, the number of the slice among those of the rank).
template <typename Visit>
void ForEachNumbered(const Evaluation& evaluation, const Shape& results, size_t numbers, Visit visit) {
  const size_t axis = AxisOf(evaluation.attributes, static_cast<int>(results.size()));
  const Tensor& of = *evaluation.inputs[numbers];
  const RowIndexing indexing =
      IndexingOf(results, axis, BatchOf(evaluation.attributes), of.shape, evaluation.ranges[axis].begin);
  ForEachIndexed(of, indexing, [&](size_t result, size_t slice) {
    visit(result, slice, static_cast<int64_t>(slice) / indexing.inner % indexing.count);
  });
}

void EvaluateSegmentMax(const Evaluation& evaluation) {
  Tensor& y = evaluation.output;
  std::fill(y.values.begin(), y.values.end(), evaluation.attributes.Get(attribute::kFill));
  ForEachNumbered(evaluation, y.shape, 1, [&](size_t result, size_t slice, int64_t) {
    if (RanksBefore(evaluation.inputs[0]->values[slice], y.values[result]))
      y.values[result] = evaluation.inputs[0]->values[slice];
  });
}

// function(inputs…, where they are, more…, result): the results are those of tensor `results`.
std::vector<KernelCall> SegmentCall(const CallSite& site, std::string function, int results, const CallArgument& more) {
  const int axis = static_cast<int>(AxisOf(site.attributes, site.output.rank()));
  const int numbers = static_cast<int>(site.inputs.size()) - 1;
  std::vector<CallArgument> arguments = site.Inputs();
  arguments.push_back(IndexingArgument(
      site, {.x = results, .axis = axis, .indices = numbers, .batch = static_cast<int>(BatchOf(site.attributes))}));
  arguments.insert(arguments.end(), {more, Pointer{kResult}});
  return {{std::move(function), std::move(arguments)}};
}

std::vector<KernelCall> SegmentMaxCalls(const CallSite& site) {
  return SegmentCall(site, "SegmentMax", kResult, FloatNumber{site.attributes.Get(attribute::kFill)});
}

InferResult InferSegmentArgmax(Types inputs, const Attributes& attributes) {
  const InferResult result = InferSegmentMax(inputs, attributes);
  if (std::holds_alternative<OpError>(result)) return result;
  return TensorType{DType::kI32, std::get<TensorType>(result).shape};
}

// The results are whole: no input of the distributed form has their dimension, so that it could be cut there.
Rule SegmentArgmaxRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = SegmentMaxRule(inputs, output, attributes);
  rule.factors[AxisOf(attributes, output.rank())].kind = FactorKind::kWhole;
  rule.factors.back().kind = FactorKind::kInner;
  rule.factors.back().reduction = Reduction::kSum;
  return rule;
}

OpId DistributeSegmentArgmax(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const OpId x = op.inputs[0], indices = op.inputs[1];
  const OpId max = builder.Add(OpKind::kSegmentMax, {x, indices}, op.attributes, absl::StrCat(op.name, ".max"));
  Attributes attributes = op.attributes;
  attributes.Erase(attribute::kSize);
  attributes.Erase(attribute::kFill);
  return builder.Add(OpKind::kSegmentFirst, {x, max, indices}, std::move(attributes), op.name);
}

void EvaluateSegmentArgmax(const Evaluation& evaluation) {
  const std::vector<double>& x = evaluation.inputs[0]->values;
  std::vector<double>& first = evaluation.output.values;
  std::fill(first.begin(), first.end(), static_cast<double>(kNoIndex));
  std::vector<double> largest(first.size(), evaluation.attributes.Get(attribute::kFill));
  ForEachNumbered(evaluation, evaluation.output.shape, 1, [&](size_t result, size_t slice, int64_t number) {
    const bool is_first = x[slice] == largest[result] && first[result] == static_cast<double>(kNoIndex);
    if (!is_first && !RanksBefore(x[slice], largest[result])) return;
    largest[result] = x[slice];
    first[result] = static_cast<double>(number);
  });
}

std::vector<KernelCall> SegmentArgmaxCalls(const CallSite& site) {
  return SegmentCall(site, "SegmentArgmax", kResult, FloatNumber{site.attributes.Get(attribute::kFill)});
}

InferResult InferSegmentFirst(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kF32, "y")) return *error;
  if (auto error = CheckNumbered(inputs, 2, attributes)) return *error;
  if (auto error = CheckRowsOf(inputs, 1, attributes)) return *error;
  return TensorType{DType::kI32, inputs[1].shape};
}

Rule SegmentFirstRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = SegmentMaxRule(inputs, output, attributes);
  rule.factors.back().reduction = Reduction::kMin;
  rule.inputs.insert(rule.inputs.begin() + 1, rule.output);
  return rule;
}

void EvaluateSegmentFirst(const Evaluation& evaluation) {
  std::vector<double>& first = evaluation.output.values;
  std::fill(first.begin(), first.end(), static_cast<double>(kNoIndex));
  const int64_t begin = evaluation.ranges.back().begin;
  ForEachNumbered(evaluation, evaluation.output.shape, 2, [&](size_t result, size_t slice, int64_t number) {
    const double x = evaluation.inputs[0]->values[slice], y = evaluation.inputs[1]->values[result];
    if (x != y && !(std::isnan(x) && std::isnan(y))) return;
    first[result] = std::min(first[result], static_cast<double>(begin + number));
  });
}

std::vector<KernelCall> SegmentFirstCalls(const CallSite& site) {
  const int axis = static_cast<int>(AxisOf(site.attributes, site.output.rank()));
  return SegmentCall(site, "SegmentFirst", kResult, FirstIndex{{0, axis}});
}

InferResult InferSegmentMaxGradient(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "dy")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kI32, "first")) return *error;
  if (auto error = CheckDType(inputs, 2, DType::kI32, "indices")) return *error;
  const auto axes = NormalizeAxes({attributes.Get(attribute::kAxis)}, inputs[0].rank());
  if (const OpError* error = std::get_if<OpError>(&axes)) return *error;
  if (auto error = CheckSameShape(inputs, 0, 1, "first")) return *error;
  if (auto error = CheckRank(inputs, 2, 1)) return *error;
  const auto axis = static_cast<size_t>(AxisOf(inputs[0], attributes));
  TensorType output = inputs[0];
  output.shape[axis] = inputs[2].shape.back();
  if (auto error = CheckNumbered({output, inputs[1], inputs[2]}, 2, attributes)) return *error;
  return output;
}

Rule SegmentMaxGradientRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const size_t axis = AxisOf(attributes, output.rank());
  Rule rule;
  const SegmentFactors factors(rule, inputs[0].shape, output.shape[axis], axis, BatchOf(attributes));
  rule.factors[axis].kind = FactorKind::kReduced;
  rule.inputs = {factors.results, factors.results, factors.numbers};
  rule.output = factors.slices;
  rule.linear = {{0}};
  return rule;
}

void EvaluateSegmentMaxGradient(const Evaluation& evaluation) {
  const int64_t begin = evaluation.ranges.back().begin;
  ForEachNumbered(evaluation, evaluation.inputs[0]->shape, 2, [&](size_t result, size_t slice, int64_t number) {
    if (evaluation.inputs[1]->values[result] == static_cast<double>(begin + number))
      evaluation.output.values[slice] = evaluation.inputs[0]->values[result];
  });
}

std::vector<KernelCall> SegmentMaxGradientCalls(const CallSite& site) {
  const int axis = static_cast<int>(AxisOf(site.attributes, site.output.rank()));
  return SegmentCall(site, "SegmentMaxGradient", 0, FirstIndex{{kResult, axis}});
}

// Slices are numbered by those that the results have.
int64_t ResultsOf(Types inputs, const Attributes& attributes, int input) {
  return input == 2 ? inputs[1].shape[AxisOf(attributes, inputs[1].rank())] : 0;
}

// Of x and the numbers of its slices.
OpDefinition NumberedOp(std::string summary) {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = {{.name = "x"},
                                    {.name = "indices"},
                                    RequiredAttribute(attribute::kSize),
                                    OptionalAttribute(attribute::kAxis, 0),
                                    OptionalAttribute(attribute::kFill, -1e9),
                                    BatchArgument()},
                      .summary = std::move(summary),
                      .flops = FlopsPerInputElement<1>,
                      .resize = ResizeSlices,
                      .choices = SliceChoices};
}

}  // namespace

OpDefinition DefineSegmentMax() {
  OpDefinition definition = NumberedOp(
      "the largest elements of the slices along `axis` that have each of `size` numbers "
      "in `indices`, and `fill` where nothing is larger");
  definition.infer = InferSegmentMax;
  definition.rule = SegmentMaxRule;
  definition.gradient = SegmentMaxGradients;
  definition.evaluate = EvaluateSegmentMax;
  definition.batch = BatchSlices;
  definition.calls = SegmentMaxCalls;
  return definition;
}

OpDefinition DefineSegmentArgmax() {
  OpDefinition definition = NumberedOp("the places of the first slices that segment_max takes, 2147483647 for `fill`");
  definition.callable = false;
  definition.infer = InferSegmentArgmax;
  definition.rule = SegmentArgmaxRule;
  definition.distribute = DistributeSegmentArgmax;
  definition.evaluate = EvaluateSegmentArgmax;
  definition.calls = SegmentArgmaxCalls;
  definition.need = [](Types, const TensorType& output, const Attributes&) -> Need {
    return {.temporary = ElementSize(DType::kF32) * output.elements()};
  };
  return definition;
}

OpDefinition DefineSegmentFirst() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "x"},
                                    {.name = "y"},
                                    {.name = "indices"},
                                    OptionalAttribute(attribute::kAxis, 0),
                                    BatchArgument()},
                      .summary =
                          "for each element of y the first slice of x with its number that is equal, 2147483647 "
                          "for none",
                      .infer = InferSegmentFirst,
                      .rule = SegmentFirstRule,
                      .flops = FlopsPerInputElement<1>,
                      .evaluate = EvaluateSegmentFirst,
                      .choices = ResultsOf,
                      .calls = SegmentFirstCalls};
}

OpDefinition DefineSegmentMaxGradient() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .callable = false,
                      .signature = {{.name = "dy"},
                                    {.name = "first"},
                                    {.name = "indices"},
                                    OptionalAttribute(attribute::kAxis, 0),
                                    BatchArgument()},
                      .summary = "dy of its number in the slice that `first` says, zeros in all others",
                      .infer = InferSegmentMaxGradient,
                      .rule = SegmentMaxGradientRule,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateSegmentMaxGradient,
                      .choices = ResultsOf,
                      .calls = SegmentMaxGradientCalls};
}

}  // namespace cleave::ir
