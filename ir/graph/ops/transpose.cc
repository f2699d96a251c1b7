#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

// Output dimension d is input dimension permutation[d]; without a permutation, dimensions are reversed.
std::vector<int64_t> PermutationOf(const Attributes& attributes, int rank) {
  std::vector<int64_t> permutation = attributes.Get(attribute::kPermutation);
  if (!permutation.empty()) return permutation;
  for (int d = rank; d-- > 0;) permutation.push_back(d);
  return permutation;
}

InferResult InferTranspose(Types inputs, const Attributes& attributes) {
  const int rank = inputs[0].rank();
  const std::vector<int64_t> permutation = PermutationOf(attributes, rank);
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  TensorType output{inputs[0].dtype, {}};
  for (int64_t dimension : permutation) {
    if (dimension < 0 || dimension >= rank || seen[static_cast<size_t>(dimension)]) break;
    seen[static_cast<size_t>(dimension)] = true;
    output.shape.push_back(inputs[0].shape[static_cast<size_t>(dimension)]);
  }
  if (output.rank() == rank && permutation.size() == static_cast<size_t>(rank)) return output;
  return OpError{
      .code = Code::kE0404,
      .message = absl::StrCat("(", absl::StrJoin(permutation, ", "), ") is not a permutation of ", rank, " dimensions"),
      .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))}},
      .notes = {absl::StrCat("each of 0 to ", rank - 1, " occurs in it once")}};
}

Rule TransposeRule(Types inputs, const TensorType&, const Attributes& attributes) {
  Rule rule;
  rule.inputs = {AddDimensions(rule, inputs[0].shape)};
  for (int64_t dimension : PermutationOf(attributes, inputs[0].rank())) {
    rule.output.push_back(rule.inputs[0][static_cast<size_t>(dimension)]);
  }
  rule.linear = {{0}};
  return rule;
}

Gradients TransposeGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::vector<int64_t> permutation = PermutationOf(op.attributes, op.type.rank());
  std::vector<int64_t> inverse(permutation.size());
  for (size_t d = 0; d < permutation.size(); ++d)
    inverse[static_cast<size_t>(permutation[d])] = static_cast<int64_t>(d);
  return {builder.Add(OpKind::kTranspose, {dy}, {{attribute::kPermutation, inverse}}, GradientName(op, "x"))};
}

void EvaluateTranspose(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const Shape strides = Strides(x.shape);
  const std::vector<int64_t> permutation = PermutationOf(evaluation.attributes, static_cast<int>(x.shape.size()));
  const Shape output_strides = Strides(evaluation.output.shape);
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i);
    int64_t source = 0;
    for (size_t d = 0; d < permutation.size(); ++d) {
      source += rest / output_strides[d] * strides[static_cast<size_t>(permutation[d])];
      rest %= output_strides[d];
    }
    evaluation.output.values[i] = x.values[static_cast<size_t>(source)];
  }
}

OpId BatchTranspose(Lift& lift) {
  std::vector<int64_t> permutation = PermutationOf(lift.op().attributes, lift.rank(0));
  for (int64_t& dimension : permutation) dimension = ShiftedAxis(dimension);
  return lift.Main(lift.Inputs(), {{attribute::kPermutation, Before(0, permutation)}});
}

std::vector<KernelCall> TransposeCalls(const CallSite& site) {
  const std::vector<int64_t> permutation = PermutationOf(site.attributes, site.type(0).rank());
  return {{"Transpose", {Pointer{0}, LocalSizes{0}, NumberList(permutation), Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineTranspose() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .treatment = Treatment::kFollow,
      .signature = {{.name = "x"}, OptionalAttribute(attribute::kPermutation, {})},
      .summary =
          "dimensions in another order: output dimension d is dimension permutation[d] of x, reversed by default",
      .infer = InferTranspose,
      .rule = TransposeRule,
      .gradient = TransposeGradients,
      .flops = FlopsPerElement<0>,
      .evaluate = EvaluateTranspose,
      .batch = BatchTranspose,
      .calls = TransposeCalls};
}

}  // namespace cleave::ir
