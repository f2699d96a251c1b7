// Runs of equal neighbours along the last dimension, as those of the numbers of documents that were packed into a row:
// the place where each element's run begins, or that behind its end. The dimension is whole, because a run may be.

#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/rules.h"

namespace cleave::ir {
namespace {

InferResult InferRun(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kI32, "x")) return *error;
  if (auto error = CheckRank(inputs, 0, 1)) return *error;
  return inputs[0];
}

Rule RunRule(Types inputs, const TensorType&, const Attributes&) {
  Rule rule;
  rule.output = AddDimensions(rule, inputs[0].shape);
  rule.inputs = {rule.output};
  rule.factors.back().kind = FactorKind::kWhole;
  return rule;
}

void EvaluateRun(const Evaluation& evaluation) {
  const std::vector<double>& x = evaluation.inputs[0]->values;
  std::vector<double>& y = evaluation.output.values;
  const auto length = static_cast<size_t>(evaluation.output.shape.back());
  for (size_t row = 0; row < x.size(); row += length) {
    size_t begin = 0;
    for (size_t i = 0; i < length; i = begin) {
      size_t end = i;
      while (end < length && x[row + end] == x[row + i]) ++end;
      for (; begin < end; ++begin)
        y[row + begin] = static_cast<double>(evaluation.attributes.Get(attribute::kReverse) ? end : i);
    }
  }
}

std::vector<KernelCall> RunCalls(const CallSite& site) {
  const int last = site.type(0).rank() - 1;
  return {{site.attributes.Get(attribute::kReverse) ? "RunEnds" : "RunBegins",
           {Pointer{0}, site.Elements(0, 0, last), LocalSize{{{0, last}}}, Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineRun() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .signature = {{.name = "x"}, OptionalAttribute(attribute::kReverse, false)},
      .summary =
          "the place along the last dimension where each element's run of equal neighbours begins; with "
          "`reverse`, the place behind its end",
      .infer = InferRun,
      .rule = RunRule,
      .gradient = ZeroGradients,
      .flops = FlopsPerElement<1>,
      .evaluate = EvaluateRun,
      .batch = BatchSame,
      .calls = RunCalls};
}

}  // namespace cleave::ir
