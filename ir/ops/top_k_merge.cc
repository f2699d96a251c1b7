// Pairs of a value and an index, ranked by value, equal values by index: the distributed form of top_k_indices.

#include <algorithm>
#include <numeric>

#include "ir/ops/define.h"
#include "ir/ops/ranking.h"

namespace cleave {
namespace {

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

}  // namespace

OpDefinition DefineTopKMerge() {
  std::vector<Argument> signature = TopKSignature();
  signature.insert(signature.begin() + 1, {.name = "indices"});
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = std::move(signature),
                      .summary = "the indices that belong to the k largest values",
                      .infer = InferTopKMerge,
                      .rule = TopKMergeRule,
                      .flops = FlopsPerInputElement<4>,
                      .evaluate = EvaluateTopKMerge};
}

}  // namespace cleave
