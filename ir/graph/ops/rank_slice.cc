// Ops that depend on the number of the rank, in manual models.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/boxing.h"
#include "ir/graph/ops/communicating.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

int64_t ProductOf(Shape::const_iterator begin, Shape::const_iterator end) {
  int64_t product = 1;
  for (; begin != end; ++begin) product *= *begin;
  return product;
}

// Copies `x` and `y`, which differ in dimension `axis` alone: elements [x_begin, ..) of x to [y_begin, ..) of y, as
// many as the smaller of both has.
struct AxisCopy {
  size_t axis = 0;
  int64_t x_begin = 0;
  int64_t y_begin = 0;
};

void CopyAlong(const AxisCopy& copy, const Tensor& x, Tensor& y) {
  const auto axis = static_cast<std::ptrdiff_t>(copy.axis);
  const int64_t inner = ProductOf(x.shape.begin() + axis + 1, x.shape.end());
  const int64_t outer = ProductOf(x.shape.begin(), x.shape.begin() + axis);
  const int64_t of_x = x.shape[copy.axis] * inner;
  const int64_t of_y = y.shape[copy.axis] * inner;
  const int64_t count = std::min(of_x, of_y);
  for (int64_t o = 0; o < outer; ++o) {
    const auto from = x.values.begin() + o * of_x + copy.x_begin * inner;
    std::copy(from, from + count, y.values.begin() + o * of_y + copy.y_begin * inner);
  }
}

// A movement along dimension `axis` between a tensor with `size` elements there and a part of it that begins at a
// different place on each rank, `starts`: the attributes of both directions. Inference, gradient and evaluation must
// still be set.
OpDefinition OwnPlaceOp(std::string summary) {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .rank_use = RankUse::kNumber,
                      .callable = false,
                      .signature = {{.name = "x"},
                                    RequiredAttribute(attribute::kAxis),
                                    RequiredAttribute(attribute::kSize),
                                    RequiredAttribute(attribute::kStarts)},
                      .summary = std::move(summary),
                      .rule = WholeRule,
                      .flops = FlopsPerElement<0>};
}

// The gradient of an OwnPlaceOp by x: an op of kind `transpose` with the same places.
Gradients OwnPlaceGradients(GraphBuilder& builder, const Op& op, OpId dy, OpKind transpose) {
  const int64_t axis = op.attributes.Get(attribute::kAxis);
  const int64_t size = builder.type(op.inputs[0]).shape[static_cast<size_t>(axis)];
  return {builder.Add(
      transpose, {dy},
      {{attribute::kAxis, axis}, {attribute::kSize, size}, {attribute::kStarts, op.attributes.Get(attribute::kStarts)}},
      GradientName(op, "x"))};
}

// The place of the rank that evaluates.
int64_t OwnPlace(const Evaluation& evaluation) {
  return evaluation.attributes.Get(attribute::kStarts)[static_cast<size_t>(evaluation.rank)];
}

// For the calls of an OwnPlaceOp: the box that begins there, along all dimensions.
BracedList OwnPlaceArgument(const CallSite& site) {
  BracedList starts = NumberList(Shape(site.output.shape.size(), 0));
  const size_t axis = AxisOf(site.attributes, site.output.rank());
  starts.fields[axis].value = RankNumber{site.attributes.Get(attribute::kStarts), "start"};
  return starts;
}

// Elements of one dimension that begin at a different place on each rank; their number is the same on all ranks.

InferResult InferRankSlice(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDimension(inputs, attributes, attribute::kAxis)) return *error;
  const int64_t axis = attributes.Get(attribute::kAxis);
  const int64_t size = attributes.Get(attribute::kSize);
  const std::vector<int64_t>& starts = attributes.Get(attribute::kStarts);
  TensorType output = inputs[0];
  int64_t& elements = output.shape[static_cast<size_t>(axis)];
  for (size_t rank = 0; rank < starts.size(); ++rank) {
    if (starts[rank] >= 0 && size >= 1 && size <= elements && starts[rank] <= elements - size) continue;
    return OpError{.code = Code::kE0412,
                   .message = absl::StrCat("on rank ", rank, " a slice of ", size, " from ", starts[rank],
                                           " of dimension ", axis, " with ", elements, " elements"),
                   .about = {{0, absl::StrCat("has ", elements, " in dimension ", axis)}},
                   .notes = {"a slice a..b needs 0 <= a < b <= size on every rank"}};
  }
  elements = size;
  return output;
}

Gradients RankSliceGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return OwnPlaceGradients(builder, op, dy, OpKind::kRankPad);
}

void EvaluateRankSlice(const Evaluation& evaluation) {
  CopyAlong({.axis = static_cast<size_t>(evaluation.attributes.Get(attribute::kAxis)), .x_begin = OwnPlace(evaluation)},
            *evaluation.inputs[0], evaluation.output);
}

// A tensor surrounded by zeros, at a different place on each rank; the gradient of rank_slice.

InferResult InferRankPad(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDimension(inputs, attributes, attribute::kAxis)) return *error;
  const int64_t axis = attributes.Get(attribute::kAxis);
  const int64_t size = attributes.Get(attribute::kSize);
  const std::vector<int64_t>& starts = attributes.Get(attribute::kStarts);
  TensorType output = inputs[0];
  int64_t& elements = output.shape[static_cast<size_t>(axis)];
  for (size_t rank = 0; rank < starts.size(); ++rank) {
    if (starts[rank] >= 0 && elements <= size && starts[rank] <= size - elements) continue;
    return OpError{.code = Code::kE0412,
                   .message = absl::StrCat("on rank ", rank, " ", elements, " elements from ", starts[rank],
                                           " of dimension ", axis, " with ", size),
                   .about = {{0, absl::StrCat("has ", elements, " in dimension ", axis)}}};
  }
  elements = size;
  return output;
}

Gradients RankPadGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return OwnPlaceGradients(builder, op, dy, OpKind::kRankSlice);
}

void EvaluateRankPad(const Evaluation& evaluation) {
  CopyAlong({.axis = static_cast<size_t>(evaluation.attributes.Get(attribute::kAxis)), .y_begin = OwnPlace(evaluation)},
            *evaluation.inputs[0], evaluation.output);
}

// A number for each rank.

InferResult InferRankValue(Types, const Attributes& attributes) {
  const std::vector<double>& values = attributes.Get(attribute::kValues);
  for (size_t rank = 0; rank < values.size(); ++rank) {
    if (std::isfinite(values[rank])) continue;
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("the value of rank ", rank, " is ", FormatDouble(values[rank])),
                   .about = {},
                   .notes = {"it must be a finite number"}};
  }
  return TensorType{DType::kF32, {}};
}

void EvaluateRankValue(const Evaluation& evaluation) {
  evaluation.output.values[0] = evaluation.attributes.Get(attribute::kValues)[static_cast<size_t>(evaluation.rank)];
}

}  // namespace

OpDefinition DefineRankSlice() {
  OpDefinition definition = OwnPlaceOp("elements of one dimension that begin at a different place on each rank");
  definition.infer = InferRankSlice;
  definition.gradient = RankSliceGradients;
  definition.evaluate = EvaluateRankSlice;
  definition.batch = BatchAlongAxis;
  definition.calls = [](const CallSite& site) { return std::vector{CopyBoxCall(OwnPlaceArgument(site))}; };
  return definition;
}

OpDefinition DefineRankPad() {
  OpDefinition definition = OwnPlaceOp("x between zeros along one dimension, at a different place on each rank");
  definition.infer = InferRankPad;
  definition.gradient = RankPadGradients;
  definition.evaluate = EvaluateRankPad;
  definition.batch = BatchAlongAxis;
  definition.calls = [](const CallSite& site) {
    return std::vector{ZeroCall(site), PasteBoxCall(0, OwnPlaceArgument(site))};
  };
  return definition;
}

OpDefinition DefineRankValue() {
  return OpDefinition{.op_class = OpClass::kSource,
                      .rank_use = RankUse::kNumber,
                      .callable = false,
                      .signature = {RequiredAttribute(attribute::kValues)},
                      .summary = "a number for each rank",
                      .infer = InferRankValue,
                      .rule = WholeRule,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateRankValue};
}

}  // namespace cleave::ir
