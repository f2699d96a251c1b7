// Each element is zeroed with probability `rate` and else divided by 1 - rate: Srivastava et al., Dropout, 2014, in the
// form that changes nothing in testing (step 0).
//
// Which elements are dropped is a function of the run's seed, the op's key, the training step and the element's place
// in the whole tensor, so no cut changes it. The gradient, which drops the same elements, is the op itself.

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/random_stream.h"

namespace cleave::ir {
namespace {

InferResult InferDropout(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  const double rate = attributes.Get(attribute::kRate);
  if (rate >= 0 && rate < 1) return inputs[0];
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`rate` is ", FormatDouble(rate)),
                 .notes = {"the share of elements that are dropped lies in [0, 1)"}};
}

Gradients DropoutGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kDropout, {dy}, op.attributes, GradientName(op, "x"))};
}

void EvaluateDropout(const Evaluation& evaluation) {
  const std::vector<double>& x = evaluation.inputs[0]->values;
  const double rate = evaluation.attributes.Get(attribute::kRate);
  const Keeping keeping(evaluation, evaluation.ranges);
  for (size_t i = 0; i < x.size(); ++i) {
    const bool kept = keeping.Keeps(static_cast<int64_t>(i));
    evaluation.output.values[i] = evaluation.step == 0 ? x[i] : kept ? x[i] / (1 - rate) : 0;
  }
}

std::vector<KernelCall> DropoutCalls(const CallSite& site) {
  const BracedList stream = {{{RunValue::kSeed}, {site.attributes.Get(attribute::kKey)}, {RunValue::kStep}}};
  return {{"Dropout",
           {stream, LocalRegion{kResult}, FloatNumber{site.attributes.Get(attribute::kRate)}, Pointer{0},
            Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineDropout() {
  OpDefinition definition = UnaryOp(
      "each element zero with probability `rate`, else divided by 1 - rate; in "
      "testing x itself. Calls with one `key` drop the same elements");
  definition.depends_on_place = true;
  definition.signature.push_back(RequiredAttribute(attribute::kRate));
  definition.signature.push_back(OptionalAttribute(attribute::kKey, ""));
  definition.infer = InferDropout;
  definition.rule = FirstLinearRule;
  definition.gradient = DropoutGradients;
  definition.evaluate = EvaluateDropout;
  definition.treatment = Treatment::kFloat;
  definition.calls = DropoutCalls;
  return definition;
}

}  // namespace cleave::ir
