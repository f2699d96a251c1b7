// What losses, accuracy and their gradients share. Inside of ir/graph/ops only.
//
// A loss is the mean over the whole: each rank divides by the global count (ranges' `global`), so that the parts add
// up. `sample_weight`, f32[batch], multiplies what each sample adds to the sum, and is the mask that drops padding; the
// count stays.
#ifndef CLEAVE_IR_GRAPH_OPS_LOSSES_H_
#define CLEAVE_IR_GRAPH_OPS_LOSSES_H_

#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/need.h"
#include "ir/graph/ops/rows.h"

namespace cleave::ir {

// (logits f32[.., c], label i32[..]): checks of everything except a mask. nullopt if they fit.
std::optional<OpError> CheckClassification(Types inputs);

// (logits, label, mask?) -> scalar; leading dimensions reduced, classes inner.
InferResult InferClassification(Types inputs, const Attributes& attributes);
Rule ClassificationRule(Types inputs, const TensorType& output, const Attributes& attributes);

// The number of classes from which labels, input 1, choose.
int64_t LabelChoices(Types inputs, const Attributes& attributes, int input);

// (prediction, target, mask?) -> scalar; all dimensions reduced.
std::optional<OpError> CheckRegression(Types inputs, const std::string& first = "prediction");
InferResult InferRegression(Types inputs, const Attributes& attributes);
Rule RegressionRule(Types inputs, const TensorType& output, const Attributes& attributes);

// An internal (prediction, target, dloss) -> like prediction, by a function of these and the count of elements.
OpDefinition RegressionGradientOp(ScalarFunction function, std::string summary);

// A loss, or accuracy, that is being built from ordinary ops.
class LossParts {
 public:
  // Ops get the name `prefix`, a dot and their kind. Keeps a reference to `builder`.
  LossParts(GraphBuilder& builder, const Op& op, std::vector<OpId> inputs, std::string prefix)
      : builder_(builder), op_(op), inputs_(std::move(inputs)), prefix_(std::move(prefix)) {}

  const Attributes& attributes() const { return op_.attributes; }
  const std::vector<OpId>& inputs() const { return inputs_; }  // Without the mask.
  const Shape& shape(OpId id) const { return builder_.type(id).shape; }
  OpId Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes = {}) const;
  OpId Constant(double value) const;

 private:
  GraphBuilder& builder_;
  Op op_;
  std::vector<OpId> inputs_;
  std::string prefix_;
};

// The values whose mean is the loss: a number for each element, or for each row of a classification. The inputs may
// have a further first dimension, both or one of them.
using LossTerms = OpId (*)(const LossParts& parts);

// For OpDefinition::batch: the mean of the terms for each element.
OpId BatchLoss(Lift& lift, LossTerms terms);

// Appends the gradient by the mask, if the op has one: the sum of each sample's terms, times its share of the mean.
void AddMaskGradient(GraphBuilder& builder, const Op& op, OpId dy, LossTerms terms, Gradients& gradients);

// Gradients by prediction, target and mask; by prediction through op `kind` of the form above.
Gradients RegressionGradients(GraphBuilder& builder, const Op& op, OpId dy, OpKind kind, LossTerms terms);

// The gradient by one element's loss: the gradient by the mean, divided by the number of input 0's elements.
OpId ShareOfMean(GraphBuilder& builder, const Op& op, OpId dy, const std::string& name);

// The gradient of a masked loss, from that of the same loss without a mask.
OpId ApplyMask(GraphBuilder& builder, const Op& op, OpId gradient, const std::string& name);

// The product of the first `factors` ranges' global sizes.
double GlobalCount(const Evaluation& evaluation, size_t factors);

// The mask's value for element `element` of a local tensor with `shape`, 1 without a mask, which is input `mask`.
double MaskAt(const Evaluation& evaluation, const Shape& shape, int64_t element, size_t mask = 2);

// The rank's share of the mean of loss(prediction, target) over all elements.
template <typename Loss>
void EvaluateRegression(const Evaluation& evaluation, Loss loss) {
  const Tensor& prediction = *evaluation.inputs[0];
  const Tensor& target = *evaluation.inputs[1];
  double sum = 0;
  for (size_t i = 0; i < prediction.values.size(); ++i) {
    const double mask = MaskAt(evaluation, prediction.shape, static_cast<int64_t>(i));
    sum += mask * loss(prediction.values[i], target.values[i]);
  }
  evaluation.output.values[0] = sum / GlobalCount(evaluation, prediction.shape.size());
}

template <int PerRow>
Flops FlopsPerRow(Types inputs, const TensorType&, const Attributes&) {
  return Flops(static_cast<double>(PerRow) * static_cast<double>(inputs[0].elements() / inputs[0].shape.back()));
}

// Input `input` as the Mask of the runtime, or none.
CallArgument MaskArgument(const CallSite& site, int input);

// function(a, b, sizes…, all elements, mask, loss)
std::vector<KernelCall> LossCall(const CallSite& site, std::string function, std::vector<CallArgument> sizes);

// The signature (first, second, mask?).
std::vector<Argument> LossSignature(std::string first, std::string second);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_LOSSES_H_
