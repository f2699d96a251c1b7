// Attention scores of keys that a query does not see are set to `fill`. The gradient is the same op with fill 0.
//
//   causal_mask      entry [.., s, t] with t > s, and with a window those with s - t >= window
//   range_mask       entry [.., h, s, t] with t < first[.., s] or t >= end[.., s]

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/attention.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/indexing.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

InferResult InferMask(Types inputs, int least_rank) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  if (auto error = CheckRank(inputs, 0, least_rank)) return *error;
  return inputs[0];
}

InferResult InferCausalMask(Types inputs, const Attributes& attributes) {
  if (attributes.Get(attribute::kWindow) < 0)
    return OpError{.code = Code::kE0409, .message = "`window` is a number of places, or 0 for all"};
  return InferMask(inputs, 2);
}

Rule MaskRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = BroadcastRule(inputs, output, {});
  if (attributes.Get(attribute::kFill) == 0) rule.linear = {{0}};
  return rule;
}

Gradients MaskGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  std::vector<OpId> inputs = op.inputs;
  inputs[0] = dy;
  Attributes attributes = op.attributes;
  attributes.Set(attribute::kFill, 0.0);
  Gradients gradients(inputs.size());
  gradients[0] = builder.Add(op.kind, std::move(inputs), std::move(attributes), GradientName(op, "x"));
  return gradients;
}

// `keeps`: whether entry (row, column) stays, which is the local row and the column of the whole.
template <typename Keeps>
void MaskRows(const Evaluation& evaluation, Keeps keeps) {
  const Shape& shape = evaluation.output.shape;
  const size_t rank = shape.size();
  const int64_t columns = shape[rank - 1];
  const int64_t first_column = evaluation.ranges[rank - 1].begin;
  const double fill = evaluation.attributes.Get(attribute::kFill);
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const int64_t element = static_cast<int64_t>(i);
    const bool is_kept = keeps(element / columns, first_column + element % columns);
    evaluation.output.values[i] = is_kept ? evaluation.inputs[0]->values[i] : fill;
  }
}

void EvaluateCausalMask(const Evaluation& evaluation) {
  const size_t rank = evaluation.output.shape.size();
  const int64_t rows = evaluation.output.shape[rank - 2], first_row = evaluation.ranges[rank - 2].begin;
  const int64_t window = evaluation.attributes.Get(attribute::kWindow);
  MaskRows(evaluation,
           [&](int64_t row, int64_t column) { return IsSeenBehind(first_row + row % rows, column, window); });
}

std::vector<KernelCall> CausalMaskCalls(const CallSite& site) {
  const int rank = site.type(0).rank();
  const LocalDimension rows = {0, rank - 2}, columns = {0, rank - 1};
  return {{"CausalMask",
           {Pointer{0}, site.Elements(0, 0, rank - 2), LocalSize{{rows}}, LocalSize{{columns}}, FirstIndex{rows},
            FirstIndex{columns}, site.attributes.Get(attribute::kWindow),
            FloatNumber{site.attributes.Get(attribute::kFill)}, Pointer{kResult}}}};
}

// x [.., heads, rows, columns] without heads and columns.
template <typename Dimensions>
Dimensions WithoutHeadsAndColumns(const Dimensions& x) {
  Dimensions of_rows(x.begin(), x.end() - 3);
  of_rows.push_back(x[x.size() - 2]);
  return of_rows;
}

InferResult InferRangeMask(Types inputs, const Attributes&) {
  const InferResult result = InferMask(inputs, 3);
  if (std::holds_alternative<OpError>(result)) return result;
  const Shape wanted = WithoutHeadsAndColumns(inputs[0].shape);
  for (const int input : {1, 2}) {
    const char* const name = input == 1 ? "first" : "end";
    if (auto error = CheckDType(inputs, input, DType::kI32, name)) return *error;
    const Shape& shape = inputs[static_cast<size_t>(input)].shape;
    if (shape == wanted) continue;
    return OpError{.code = Code::kE0411,
                   .message = absl::StrCat("`", name, "` ", ShapeText(shape), " instead of ", ShapeText(wanted),
                                           ": a number for each row of each sample of x ", ShapeText(inputs[0].shape)),
                   .about = {{input, absl::StrCat("is ", ShapeText(shape))}}};
  }
  return result;
}

Rule RangeMaskRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = MaskRule(inputs.subspan(0, 1), output, attributes);
  rule.inputs.insert(rule.inputs.end(), 2, WithoutHeadsAndColumns(rule.output));
  return rule;
}

void EvaluateRangeMask(const Evaluation& evaluation) {
  const Shape& shape = evaluation.output.shape;
  const int64_t rows = shape[shape.size() - 2], heads = shape[shape.size() - 3];
  MaskRows(evaluation, [&](int64_t row, int64_t column) {
    const auto of_sample = static_cast<size_t>(row / (rows * heads) * rows + row % rows);
    const double number = static_cast<double>(column);
    return evaluation.inputs[1]->values[of_sample] <= number && number < evaluation.inputs[2]->values[of_sample];
  });
}

int64_t RangeMaskChoices(Types inputs, const Attributes&, int input) {
  return input == 0 ? 0 : inputs[0].shape.back() + (input == 2 ? 1 : 0);
}

OpId BatchRangeMask(Lift& lift) { return lift.Main({lift.Whole(0), lift.Whole(1), lift.Whole(2)}); }

std::vector<KernelCall> RangeMaskCalls(const CallSite& site) {
  const int rank = site.type(0).rank();
  const LocalDimension heads = {0, rank - 3}, rows = {0, rank - 2}, columns = {0, rank - 1};
  return {{"RangeMask",
           {Pointer{0}, site.Elements(0, 0, rank - 3), LocalSize{{heads}}, LocalSize{{rows}}, LocalSize{{columns}},
            FirstIndex{columns}, Pointer{1}, Pointer{2}, FloatNumber{site.attributes.Get(attribute::kFill)},
            Pointer{kResult}}}};
}

OpDefinition MaskOp(std::string summary) {
  OpDefinition definition = UnaryOp(std::move(summary));
  definition.depends_on_place = true;
  definition.signature.push_back(OptionalAttribute(attribute::kFill, -1e9));
  definition.rule = MaskRule;
  definition.gradient = MaskGradients;
  return definition;
}

}  // namespace

OpDefinition DefineCausalMask() {
  OpDefinition definition = MaskOp(
      "entries [.., s, t] with t > s replaced by a large negative number, and those with s - t >= `window` unless it "
      "is 0");
  definition.signature.push_back(OptionalAttribute(attribute::kWindow, 0));
  definition.infer = InferCausalMask;
  definition.evaluate = EvaluateCausalMask;
  definition.calls = CausalMaskCalls;
  return definition;
}

OpDefinition DefineRangeMask() {
  OpDefinition definition =
      MaskOp("entries [.., h, s, t] with t < first[.., s] or t >= end[.., s] replaced by a large negative number");
  definition.signature.insert(definition.signature.begin() + 1, {{.name = "first"}, {.name = "end"}});
  definition.infer = InferRangeMask;
  definition.rule = RangeMaskRule;
  definition.evaluate = EvaluateRangeMask;
  definition.choices = RangeMaskChoices;
  definition.batch = BatchRangeMask;
  definition.calls = RangeMaskCalls;
  return definition;
}

}  // namespace cleave::ir
