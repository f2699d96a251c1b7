// Which tap of the kernel saw the maximum, rows * columns counted row-major; the first of equals. Taps, not places in
// the image: they mean the same on every rank.

#include <limits>

#include "ir/ops/define.h"
#include "ir/ops/pooling.h"

namespace cleave {
namespace {

InferResult InferMaxPoolIndex(Types inputs, const Attributes& attributes) {
  InferResult result = InferPooling(inputs, attributes);
  if (TensorType* type = std::get_if<TensorType>(&result)) type->dtype = DType::kI32;
  return result;
}

Rule MaxPoolIndexRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  return PoolingRule(inputs, output, attributes, {});
}

void EvaluateMaxPoolIndex(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  Tensor& index = evaluation.output;
  std::vector<double> largest(index.values.size(), -std::numeric_limits<double>::infinity());
  ForEachLook(x.shape, index.shape, PoolingSlidingOf(evaluation), [&](size_t from, size_t to, int64_t tap) {
    if (x.values[from] <= largest[to]) return;
    largest[to] = x.values[from];
    index.values[to] = static_cast<double>(tap);
  });
}

}  // namespace

OpDefinition DefineMaxPoolIndex() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = PoolingSignature({{.name = "x"}}),
                      .summary = "the tap of the kernel that sees the largest element",
                      .infer = InferMaxPoolIndex,
                      .rule = MaxPoolIndexRule,
                      .flops = PoolingFlops,
                      .evaluate = EvaluateMaxPoolIndex};
}

}  // namespace cleave
