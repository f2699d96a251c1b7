#include "ir/graph/ops/indexing.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
CallArgument IndexingArgument(const CallSite& site, const Lookup& lookup) {
  const LocalDimension rows = {lookup.x, lookup.axis};
  const int index_rank = site.type(lookup.indices).rank();
  return BracedList{{{site.Elements(lookup.x, lookup.batch, lookup.axis), "outer", 1},
                     {site.Elements(lookup.indices, lookup.batch, index_rank), "count"},
                     {LocalSize{{rows}}, "rows"},
                     {site.Elements(lookup.x, lookup.axis + 1, site.type(lookup.x).rank()), "inner", 1},
                     {FirstIndex{rows}, "first_row", 0},
                     {site.Elements(lookup.x, 0, lookup.batch), "batch", 1}}};
}

RowIndexing IndexingOf(const Shape& shape, size_t axis, size_t batch, const Shape& indices, int64_t first_row) {
  const auto shared = static_cast<int64_t>(batch);
  const auto middle = shape.begin() + static_cast<int64_t>(axis);
  return {.outer = ElementCount(Shape(shape.begin() + shared, middle)),
          .count = ElementCount(Shape(indices.begin() + shared, indices.end())),
          .rows = *middle,
          .inner = ElementCount(Shape(middle + 1, shape.end())),
          .first_row = first_row,
          .batch = ElementCount(Shape(shape.begin(), shape.begin() + shared))};
}

std::vector<FactorList> AddIndexDimensions(Rule& rule, const Shape& indices, FactorKind kind) {
  std::vector<FactorList> dimensions;
  for (size_t d = 0; d < indices.size(); ++d) {
    dimensions.push_back({AddFactor(rule, absl::StrCat("i", d), indices[d], kind)});
  }
  return dimensions;
}

Attributes Along(const Op& op, int64_t axis, size_t batch) {
  Attributes attributes = op.attributes;
  attributes.Set(attribute::kAxis, axis);
  if (batch > 0) attributes.Set(attribute::kBatch, static_cast<int64_t>(batch));
  return attributes;
}

Attributes PlaceOfSlices(const Op& op) {
  Attributes attributes = {{attribute::kAxis, op.attributes.Get(attribute::kAxis)}};
  if (const size_t batch = BatchOf(op.attributes)) attributes.Set(attribute::kBatch, static_cast<int64_t>(batch));
  return attributes;
}

Attributes ResizeSlices(const Attributes& attributes, const Rule& resized) {
  const Shape shape = resized.OutputShape();
  Attributes result = attributes;
  result.Set(attribute::kSize, shape[AxisOf(attributes, static_cast<int>(shape.size()))]);
  return result;
}

int64_t SliceChoices(Types, const Attributes& attributes, int input) {
  return input == 1 ? attributes.Get(attribute::kSize) : 0;
}

OpId BatchSlices(Lift& lift) {
  const int64_t axis = static_cast<int64_t>(AxisOf(lift.op().attributes, lift.op().type.rank()));
  const size_t batch = BatchOf(lift.op().attributes);
  const auto front = static_cast<int64_t>(batch);
  if (lift.mapped(1)) return lift.Main({lift.Whole(0), lift.value(1)}, Along(lift.op(), axis + 1, batch + 1));
  const OpId slices = lift.Moved(lift.value(0), 0, front);
  return lift.Moved(lift.Main({slices, lift.value(1)}, Along(lift.op(), axis + 1, batch)), front, 0);
}

Argument ByRowsArgument() { return {.name = attribute::kByRows.name, .kind = ArgumentKind::kBool, .internal = true}; }

FactorKind SummedPlaces(const Attributes& attributes) {
  return attributes.IsSet(attribute::kByRows) ? FactorKind::kWhole : FactorKind::kReduced;
}

void GatherRows(const Tensor& x, const Tensor& indices, const RowIndexing& indexing, Tensor& y) {
  ForEachIndexed(indices, indexing, [&](size_t from, size_t to) { y.values[to] = x.values[from]; });
}

void ScatterAddRows(const Tensor& updates, const Tensor& indices, const RowIndexing& indexing, Tensor& y) {
  ForEachIndexed(indices, indexing, [&](size_t to, size_t from) { y.values[to] += updates.values[from]; });
}

void ScatterRows(const Tensor& updates, const Tensor& indices, const RowIndexing& indexing, Tensor& y) {
  ForEachIndexed(indices, indexing, [&](size_t to, size_t from) { y.values[to] = updates.values[from]; });
}

std::vector<KernelCall> GatherCall(const CallSite& site, const Lookup& lookup) {
  return {{"Gather", {Pointer{lookup.x}, Pointer{lookup.indices}, IndexingArgument(site, lookup), Pointer{kResult}}}};
}

std::vector<KernelCall> ScatterAddCall(const CallSite& site, int axis, int batch) {
  const Lookup lookup = {.x = kResult, .axis = axis, .indices = 1, .batch = batch};
  return {{.function = "ScatterAdd",
           .arguments = {Pointer{0}, Pointer{1}, IndexingArgument(site, lookup), Pointer{kResult}},
           .accumulating = "AccumulateScatterAdd"}};
}

std::vector<KernelCall> ScatterCall(const CallSite& site, int axis, int batch) {
  const Lookup lookup = {.x = kResult, .axis = axis, .indices = 2, .batch = batch};
  return {{"Scatter", {Pointer{0}, Pointer{1}, Pointer{2}, IndexingArgument(site, lookup), Pointer{kResult}}}};
}

std::optional<OpError> CheckPlaces(Types inputs, int places, size_t axis, size_t batch) {
  if (auto error = CheckDType(inputs, places, DType::kI32, "places")) return error;
  const Shape& x = inputs[0].shape;
  const Shape& shape = inputs[static_cast<size_t>(places)].shape;
  const bool is_one = batch <= axis && shape.size() == batch + 1 && shape.back() == x[axis];
  if (is_one && std::equal(shape.begin(), shape.end() - 1, x.begin())) return std::nullopt;
  return OpError{
      .code = Code::kE0411,
      .message = absl::StrCat("places ", ShapeText(shape), " of dimension ", axis, " of ", ShapeText(inputs[0].shape))};
}

}  // namespace cleave::ir
