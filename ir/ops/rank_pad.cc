// A tensor among zeros, at another place on each rank; the gradient of rank_slice.

#include "absl/strings/str_cat.h"
#include "ir/ops/communicating.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

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

}  // namespace

OpDefinition DefineRankPad() {
  OpDefinition definition = OwnPlaceOp("x among zeros along one dimension, at another place on each rank");
  definition.infer = InferRankPad;
  definition.gradient = RankPadGradients;
  definition.evaluate = EvaluateRankPad;
  return definition;
}

}  // namespace cleave
