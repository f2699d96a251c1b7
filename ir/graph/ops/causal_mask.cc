// Attention scores that look ahead are set to `fill`: entry [.., s, t] with t > s. Its gradient is itself with fill 0.
//
// The op at places has only some rows of the scores, whose numbers are an input: generation computes one at a time.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/indexing.h"
#include "ir/graph/ops/kernel_call.h"

namespace cleave::ir {
namespace {

InferResult InferCausalMask(Types inputs, const Attributes&) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  if (auto error = CheckRank(inputs, 0, 2)) return *error;
  return inputs[0];
}

Rule CausalMaskRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = BroadcastRule(inputs, output, {});
  if (attributes.Get(attribute::kFill) == 0) rule.linear = {{0}};
  return rule;
}

Gradients CausalMaskGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kCausalMask, {dy}, {{attribute::kFill, 0.0}}, GradientName(op, "x"))};
}

// `number_of_row`: the number of a local row in the whole matrix.
template <typename NumberOfRow>
void MaskRows(const Evaluation& evaluation, NumberOfRow number_of_row) {
  const Shape& shape = evaluation.output.shape;
  const size_t rank = shape.size();
  const int64_t columns = shape[rank - 1];
  const int64_t rows = shape[rank - 2];
  const int64_t first_column = evaluation.ranges[rank - 1].begin;
  const double fill = evaluation.attributes.Get(attribute::kFill);
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const int64_t element = static_cast<int64_t>(i);
    const int64_t column = first_column + element % columns;
    evaluation.output.values[i] =
        column > number_of_row(element / columns % rows) ? fill : evaluation.inputs[0]->values[i];
  }
}

void EvaluateCausalMask(const Evaluation& evaluation) {
  const int64_t first_row = evaluation.ranges[evaluation.output.shape.size() - 2].begin;
  MaskRows(evaluation, [&](int64_t row) { return first_row + row; });
}

// `row`: what says the numbers of the rows.
std::vector<KernelCall> MaskCall(const CallSite& site, std::string function, CallArgument row) {
  const int rank = site.type(0).rank();
  const LocalDimension rows = {0, rank - 2}, columns = {0, rank - 1};
  return {{std::move(function),
           {Pointer{0}, site.Elements(0, 0, rank - 2), LocalSize{{rows}}, LocalSize{{columns}}, std::move(row),
            FirstIndex{columns}, FloatNumber{site.attributes.Get(attribute::kFill)}, Pointer{kResult}}}};
}

std::vector<KernelCall> CausalMaskCalls(const CallSite& site) {
  return MaskCall(site, "CausalMask", FirstIndex{{0, site.type(0).rank() - 2}});
}

InferResult InferCausalMaskAt(Types inputs, const Attributes& attributes) {
  const InferResult result = InferCausalMask(inputs, attributes);
  if (std::holds_alternative<OpError>(result)) return result;
  if (auto error = CheckPlaces(inputs, 1, static_cast<size_t>(inputs[0].rank()) - 2)) return *error;
  return result;
}

Rule CausalMaskAtRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = CausalMaskRule(inputs.subspan(0, 1), output, attributes);
  rule.inputs.push_back({rule.output[rule.output.size() - 2]});
  return rule;
}

void EvaluateCausalMaskAt(const Evaluation& evaluation) {
  const std::vector<double>& places = evaluation.inputs[1]->values;
  MaskRows(evaluation, [&](int64_t row) { return static_cast<int64_t>(places[static_cast<size_t>(row)]); });
}

int64_t CausalMaskAtChoices(Types inputs, const Attributes&, int input) {
  return input == 1 ? inputs[0].shape.back() : 0;
}

std::vector<KernelCall> CausalMaskAtCalls(const CallSite& site) { return MaskCall(site, "CausalMaskAt", Pointer{1}); }

}  // namespace

OpDefinition DefineCausalMask() {
  OpDefinition definition = UnaryOp("entries [.., s, t] with t > s replaced by a large negative number");
  definition.depends_on_place = true;
  definition.signature.push_back(OptionalAttribute(attribute::kFill, -1e9));
  definition.infer = InferCausalMask;
  definition.rule = CausalMaskRule;
  definition.gradient = CausalMaskGradients;
  definition.evaluate = EvaluateCausalMask;
  definition.calls = CausalMaskCalls;
  return definition;
}

OpDefinition DefineCausalMaskAt() {
  OpDefinition definition = DefineCausalMask();
  definition.callable = false;
  definition.signature.insert(definition.signature.begin() + 1, {.name = "places"});
  definition.summary = "entries [.., s, t] with t > places[s] replaced by a large negative number";
  definition.infer = InferCausalMaskAt;
  definition.rule = CausalMaskAtRule;
  definition.gradient = nullptr;
  definition.evaluate = EvaluateCausalMaskAt;
  definition.choices = CausalMaskAtChoices;
  definition.batch = nullptr;
  definition.calls = CausalMaskAtCalls;
  return definition;
}

}  // namespace cleave::ir
