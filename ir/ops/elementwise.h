// What elementwise ops share: definitions of one- and two-input ops, their rules and their evaluation.
//
//   OpDefinition DefineExp() {
//     OpDefinition definition = UnaryOp("e to the power of each element");
//     definition.evaluate = EvaluateUnary<[](double x) { return std::exp(x); }>;
//     …
//   }
// Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_ELEMENTWISE_H_
#define CLEAVE_IR_OPS_ELEMENTWISE_H_

#include <string>
#include <vector>

#include "ir/ops/builder.h"
#include "ir/ops/inference.h"
#include "ir/ops/ops.h"
#include "ir/ops/rules.h"

namespace cleave {

using Gradients = std::vector<std::optional<OpId>>;

// Below, "real" is f32 or bf16, and the inputs and the result of one op hold the same (CheckOneFloat has the
// exception).

// Real, to the same type; linear in nothing; one operation per element. Gradient and evaluation are left to be
// set.
OpDefinition UnaryOp(std::string summary);

// (x, y), both real, with broadcasting; linear in nothing; one operation per element.
OpDefinition BinaryOp(std::string summary);

// (x, y), both real or both i32, with broadcasting: 1 where it holds, else 0, as f32 of integers. Its gradients are
// zero.
OpDefinition ComparisonOp(std::string summary);

// An internal (dy, `value`) -> dx, all of one shape; linear in dy.
OpDefinition UnaryGradientOp(std::string value, std::string summary);

// An error unless inputs `a` and `b`, arguments of these names, hold one type; the help casts to f32, which both can
// be.
std::optional<OpError> CheckOneDType(Types inputs, int a, const std::string& name_a, int b, const std::string& name_b);

// All inputs broadcast to one shape, of elements `dtype`; the types of the inputs' elements are not looked at.
InferResult InferBroadcast(Types inputs, DType dtype);

// For OpDefinition::gradient: zero by every input, as of functions that are constant between jumps.
Gradients ZeroGradients(GraphBuilder& builder, const Op& op, OpId dy);

// Rules by linearity, for OpDefinition::rule.
Rule NowhereLinearRule(Types inputs, const TensorType& output, const Attributes& attributes);
Rule FirstLinearRule(Types inputs, const TensorType& output, const Attributes& attributes);    // {{0}}
Rule JointlyLinearRule(Types inputs, const TensorType& output, const Attributes& attributes);  // {{0, 1}}
Rule EachLinearRule(Types inputs, const TensorType& output, const Attributes& attributes);     // {{0}, {1}}

// `PerElement` operations for each element of the output.
template <int PerElement>
Flops FlopsPerElement(Types, const TensorType& output, const Attributes&) {
  return Flops(static_cast<double>(PerElement) * static_cast<double>(output.elements()));
}

template <auto F>
void EvaluateUnary(const Evaluation& evaluation) {
  const std::vector<int64_t> index = BroadcastIndex(evaluation.output.shape, evaluation.inputs[0]->shape);
  for (size_t i = 0; i < index.size(); ++i) {
    evaluation.output.values[i] = F(evaluation.inputs[0]->values[static_cast<size_t>(index[i])]);
  }
}

template <auto F>
void EvaluateBinary(const Evaluation& evaluation) {
  const std::vector<int64_t> a = BroadcastIndex(evaluation.output.shape, evaluation.inputs[0]->shape);
  const std::vector<int64_t> b = BroadcastIndex(evaluation.output.shape, evaluation.inputs[1]->shape);
  for (size_t i = 0; i < a.size(); ++i) {
    evaluation.output.values[i] = F(evaluation.inputs[0]->values[static_cast<size_t>(a[i])],
                                    evaluation.inputs[1]->values[static_cast<size_t>(b[i])]);
  }
}

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_ELEMENTWISE_H_
