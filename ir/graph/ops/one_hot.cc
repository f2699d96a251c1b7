#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

InferResult InferOneHot(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kI32, "x")) return *error;
  const int64_t depth = attributes.Get(attribute::kDepth);
  if (auto error = CheckSizes({depth}, "depth")) {
    error->message = "`depth` is " + std::to_string(depth);
    return *error;
  }
  TensorType output{DType::kF32, inputs[0].shape};
  output.shape.push_back(depth);
  return output;
}

Rule OneHotRule(Types inputs, const TensorType& output, const Attributes&) {
  Rule rule;
  rule.output = AddDimensions(rule, inputs[0].shape);
  rule.inputs = {rule.output};
  rule.output.push_back({AddFactor(rule, "c", output.shape.back())});
  return rule;
}

Gradients OneHotGradients(GraphBuilder&, const Op&, OpId) { return {std::nullopt}; }

void EvaluateOneHot(const Evaluation& evaluation) {
  const FactorRange& depth = evaluation.ranges.back();
  const std::vector<double>& classes = evaluation.inputs[0]->values;
  for (size_t i = 0; i < classes.size(); ++i) {
    const int64_t c = static_cast<int64_t>(classes[i]) - depth.begin;
    if (c >= 0 && c < depth.size)
      evaluation.output.values[i * static_cast<size_t>(depth.size) + static_cast<size_t>(c)] = 1;
  }
}

Attributes ResizeOneHot(const Attributes& attributes, const Rule& resized) {
  Attributes result = attributes;
  result.Set(attribute::kDepth, resized.OutputShape().back());
  return result;
}

int64_t OneHotChoices(Types, const Attributes& attributes, int) { return attributes.Get(attribute::kDepth); }

std::vector<KernelCall> OneHotCalls(const CallSite& site) {
  return {{"OneHot",
           {Pointer{0}, site.Elements(0), site.Columns(kResult), FirstIndex{site.Last(kResult)}, Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineOneHot() {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .signature = {{.name = "x"}, RequiredAttribute(attribute::kDepth)},
                      .summary = "for each class a row of `depth` zeros with 1 at the class",
                      .infer = InferOneHot,
                      .rule = OneHotRule,
                      .gradient = OneHotGradients,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateOneHot,
                      .resize = ResizeOneHot,
                      .choices = OneHotChoices,
                      .batch = BatchSame,
                      .calls = OneHotCalls};
}

}  // namespace cleave::ir
