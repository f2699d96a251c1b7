// The largest elements of each row, and their indices.

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/ranking.h"

namespace cleave::ir {
namespace {

InferResult InferTopKValues(Types inputs, const Attributes& attributes) {
  return InferTopK(inputs, attributes, DType::kF32);
}

Gradients TopKGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  const std::string name = GradientName(op, "x");
  const OpId indices = builder.Add(OpKind::kTopKIndices, {x}, op.attributes, name);
  const int64_t elements = builder.type(x).shape.back();
  return {builder.Add(OpKind::kTopKGradient, {dy, indices}, {{attribute::kElements, elements}}, name)};
}

// The first ranked of the candidates of all pieces.
OpId DistributeTopK(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) {
  const int64_t count = pieces[builder.type(op.inputs[0]).shape.size() - 1];
  const OpId candidates =
      AddCandidates(builder, OpKind::kTopKCandidates, op, count, absl::StrCat(op.name, ".candidates"));
  return builder.Add(OpKind::kTopK, {candidates}, op.attributes, op.name);
}

void EvaluateTopK(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const Rows rows = RowsOf(x);
  const int64_t k = evaluation.attributes.Get(attribute::kK);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* row = x.values.data() + r * rows.length;
    double* y = evaluation.output.values.data() + r * k;
    for (int64_t position : FirstRanked(row, rows.length, k)) *y++ = row[position];
  }
}

InferResult InferTopKIndices(Types inputs, const Attributes& attributes) {
  return InferTopK(inputs, attributes, DType::kI32);
}

// An index does not change when its element changes a little.
Gradients TopKIndicesGradients(GraphBuilder&, const Op&, OpId) { return {std::nullopt}; }

OpId DistributeTopKIndices(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) {
  const int64_t count = pieces[builder.type(op.inputs[0]).shape.size() - 1];
  const OpId values = AddCandidates(builder, OpKind::kTopKCandidates, op, count, absl::StrCat(op.name, ".candidates"));
  const OpId indices =
      AddCandidates(builder, OpKind::kTopKCandidateIndices, op, count, absl::StrCat(op.name, ".candidate_indices"));
  return builder.Add(OpKind::kTopKMerge, {values, indices}, op.attributes, op.name);
}

void EvaluateTopKIndices(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const Rows rows = RowsOf(x);
  const int64_t k = evaluation.attributes.Get(attribute::kK);
  for (int64_t r = 0; r < rows.count; ++r) {
    double* y = evaluation.output.values.data() + r * k;
    for (int64_t position : FirstRanked(x.values.data() + r * rows.length, rows.length, k)) {
      *y++ = static_cast<double>(position);
    }
  }
}

// Where a piece has fewer than k elements, its other places get -infinity.

InferResult InferTopKCandidates(Types inputs, const Attributes& attributes) {
  return InferCandidates(inputs, attributes, DType::kF32);
}

void EvaluateTopKCandidates(const Evaluation& evaluation) {
  for (const Candidate& candidate : CandidatesOf(evaluation)) {
    evaluation.output.values[candidate.slot] =
        candidate.position < 0 ? -std::numeric_limits<double>::infinity()
                               : evaluation.inputs[0]->values[static_cast<size_t>(candidate.position)];
  }
}

// Indices in the whole row. Where a piece has fewer than k elements, its other places get an index that no element has.

InferResult InferTopKCandidateIndices(Types inputs, const Attributes& attributes) {
  return InferCandidates(inputs, attributes, DType::kI32);
}

void EvaluateTopKCandidateIndices(const Evaluation& evaluation) {
  for (const Candidate& candidate : CandidatesOf(evaluation)) {
    evaluation.output.values[candidate.slot] = static_cast<double>(candidate.index);
  }
}

// Pairs of a value and an index, ranked by value, equal values by index: the distributed form of top_k_indices.

InferResult InferTopKMerge(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 1, DType::kI32, "indices")) return *error;
  if (auto error = CheckSameShape(inputs, 0, 1, "indices")) return *error;
  return InferTopK(inputs, attributes, DType::kI32);
}

Rule TopKMergeRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule = TopKRule(inputs, output, attributes);
  rule.factors[rule.factors.size() - 2].kind = FactorKind::kWhole;
  rule.inputs.push_back(rule.inputs[0]);
  return rule;
}

void EvaluateTopKMerge(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const int64_t k = evaluation.attributes.Get(attribute::kK);
  std::vector<int64_t> order(static_cast<size_t>(rows.length));
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* values = evaluation.inputs[0]->values.data() + r * rows.length;
    const double* indices = evaluation.inputs[1]->values.data() + r * rows.length;
    std::iota(order.begin(), order.end(), int64_t{0});
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
      return RanksBefore(values[a], values[b]) || (!RanksBefore(values[b], values[a]) && indices[a] < indices[b]);
    });
    double* y = evaluation.output.values.data() + r * k;
    for (int64_t i = 0; i < k; ++i) y[i] = indices[order[static_cast<size_t>(i)]];
  }
}

InferResult InferTopKGradient(Types inputs, const Attributes& attributes) {
  const InferResult rows = InferRows(inputs, attributes);
  if (std::holds_alternative<OpError>(rows)) return rows;
  if (auto error = CheckDType(inputs, 1, DType::kI32, "indices")) return *error;
  if (auto error = CheckSameShape(inputs, 0, 1, "indices")) return *error;
  if (auto error = CheckSizes({attributes.Get(attribute::kElements)}, "elements")) return *error;
  TensorType output = inputs[0];
  output.shape.back() = attributes.Get(attribute::kElements);
  return output;
}

Rule TopKGradientRule(Types inputs, const TensorType& output, const Attributes&) {
  Rule rule;
  rule.output = AddDimensions(rule, Shape(output.shape.begin(), output.shape.end() - 1));
  rule.inputs = {rule.output, rule.output};
  const int rank = AddFactor(rule, "k", inputs[0].shape.back(), FactorKind::kReduced);
  const int element = AddFactor(rule, "n", output.shape.back());
  for (std::vector<FactorList>& input : rule.inputs) input.push_back({rank});
  rule.output.push_back({element});
  rule.linear = {{0}};
  rule.selections = {{.part = rank, .whole = element}};
  return rule;
}

Attributes ResizeTopKGradient(const Attributes& attributes, const Rule& resized) {
  Attributes result = attributes;
  result.Set(attribute::kElements, resized.OutputShape().back());
  return result;
}

void EvaluateTopKGradient(const Evaluation& evaluation) {
  const Tensor& dy = *evaluation.inputs[0];
  const Rows rows = RowsOf(dy);
  const FactorRange& elements = evaluation.ranges.back();
  for (size_t i = 0; i < dy.values.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / rows.length;
    const int64_t at = static_cast<int64_t>(evaluation.inputs[1]->values[i]) - elements.begin;
    if (at < 0 || at >= elements.size) continue;
    evaluation.output.values[static_cast<size_t>(row * elements.size + at)] += dy.values[i];
  }
}

std::vector<KernelCall> TopKGradientCalls(const CallSite& site) {
  return {{"TopKGradient",
           {Pointer{0}, Pointer{1}, site.Rows(0), site.Columns(0), FirstIndex{site.Last(kResult)},
            site.Columns(kResult), Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineTopK() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .signature = TopKSignature(),
      .summary = "the k largest elements of the last dimension, largest first",
      .infer = InferTopKValues,
      .rule = TopKRule,
      .gradient = TopKGradients,
      .flops = FlopsPerInputElement<4>,
      .distribute = DistributeTopK,
      .evaluate = EvaluateTopK,
      .resize = ResizeTopK,
      .batch = BatchSame,
      .calls = [](const CallSite& site) { return RowsCall(site, "TopK", {site.attributes.Get(attribute::kK)}); }};
}

OpDefinition DefineTopKIndices() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = TopKSignature(),
                      .summary = "indices of the k largest elements of the last dimension, largest first",
                      .infer = InferTopKIndices,
                      .rule = TopKRule,
                      .gradient = TopKIndicesGradients,
                      .flops = FlopsPerInputElement<4>,
                      .distribute = DistributeTopKIndices,
                      .evaluate = EvaluateTopKIndices,
                      .resize = ResizeTopK,
                      .batch = BatchSame,
                      .calls = [](const CallSite& site) {
                        return RowsCall(site, "TopKIndices", {site.attributes.Get(attribute::kK)});
                      }};
}

OpDefinition DefineTopKCandidates() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = CandidatesSignature(),
                      .summary = "the k largest elements of each piece of the last dimension",
                      .infer = InferTopKCandidates,
                      .rule = CandidatesRule,
                      .flops = FlopsPerInputElement<4>,
                      .evaluate = EvaluateTopKCandidates,
                      .resize = ResizeCandidates,
                      .calls = [](const CallSite& site) { return CandidatesCall(site, "TopKCandidates"); }};
}

OpDefinition DefineTopKCandidateIndices() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = CandidatesSignature(),
                      .summary = "indices of the k largest elements of each piece of the last dimension",
                      .infer = InferTopKCandidateIndices,
                      .rule = CandidatesRule,
                      .flops = FlopsPerInputElement<4>,
                      .evaluate = EvaluateTopKCandidateIndices,
                      .resize = ResizeCandidates,
                      .calls = [](const CallSite& site) { return CandidatesCall(site, "TopKCandidateIndices"); }};
}

OpDefinition DefineTopKMerge() {
  std::vector<Argument> signature = TopKSignature();
  signature.insert(signature.begin() + 1, {.name = "indices"});
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .callable = false,
      .signature = std::move(signature),
      .summary = "the indices that belong to the k largest values",
      .infer = InferTopKMerge,
      .rule = TopKMergeRule,
      .flops = FlopsPerInputElement<4>,
      .evaluate = EvaluateTopKMerge,
      .resize = ResizeTopK,
      .calls = [](const CallSite& site) { return RowsCall(site, "TopKMerge", {site.attributes.Get(attribute::kK)}); }};
}

OpDefinition DefineTopKGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "dy"}, {.name = "indices"}, RequiredAttribute(attribute::kElements)},
                      .summary = "zeros, with dy at the indices of the last dimension",
                      .infer = InferTopKGradient,
                      .rule = TopKGradientRule,
                      .flops = FlopsPerInputElement<1>,
                      .evaluate = EvaluateTopKGradient,
                      .resize = ResizeTopKGradient,
                      .calls = TopKGradientCalls};
}

}  // namespace cleave::ir
