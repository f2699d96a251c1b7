// Elements of one dimension that begin at another place on each rank, equally many on all.

#include "absl/strings/str_cat.h"
#include "ir/ops/communicating.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

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

}  // namespace

OpDefinition DefineRankSlice() {
  OpDefinition definition = OwnPlaceOp("elements of one dimension that begin at another place on each rank");
  definition.infer = InferRankSlice;
  definition.gradient = RankSliceGradients;
  definition.evaluate = EvaluateRankSlice;
  return definition;
}

}  // namespace cleave
