// The sum of a tensor over the batches of an evaluation (step 0) up to this one; a batch of training is by itself.
// Metrics are computed from such sums: as every rank has the whole of them, their numbers are those of one device.
//
// The reference evaluates one batch, the first of its evaluation.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/need.h"

namespace cleave::ir {
namespace {

InferResult InferTotal(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  return inputs[0];
}

// What is kept from batch to batch is whole: a batch whose samples are cut, by ranks or in time, is added up before.
Rule TotalRule(Types inputs, const TensorType& output, const Attributes&) {
  Rule rule = BroadcastRule(inputs, output, {});
  for (Factor& factor : rule.factors) factor.kind = FactorKind::kWhole;
  return rule;
}

void EvaluateTotal(const Evaluation& evaluation) { evaluation.output.values = evaluation.inputs[0]->values; }

std::vector<KernelCall> TotalCalls(const CallSite& site) {
  return {
      {"totals.Add",
       {RunValue::kStep, site.attributes.Get(attribute::kKey), Pointer{0}, site.Elements(kResult), Pointer{kResult}}}};
}

Need NeedOfTotal(absl::Span<const TensorType>, const TensorType& output, const Attributes&) {
  return {.sums = Bytes(static_cast<int64_t>(sizeof(double))) * output.elements()};
}

}  // namespace

OpDefinition DefineTotal() {
  Argument key = OptionalAttribute(attribute::kKey, "");
  key.internal = true;
  return OpDefinition{.op_class = OpClass::kMovement,
                      .signature = {{.name = "x"}, key},
                      .summary = "in a metric: the sum of x over the batches of an evaluation; in training x itself",
                      .infer = InferTotal,
                      .rule = TotalRule,
                      .flops = FlopsPerElement<1>,
                      .evaluate = EvaluateTotal,
                      .batch = BatchSame,
                      .calls = TotalCalls,
                      .need = NeedOfTotal};
}

}  // namespace cleave::ir
