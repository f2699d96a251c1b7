// Elementwise ops: an op is defined by its function of one element (ir/graph/scalar). Everything else follows from it:
// evaluation, the groups of inputs in which it is linear, gradients, flops, and the text of generated programs.
//
//   OpDefinition DefineSoftsign() {
//     const Scalar x = Variable("x");
//     return UnaryOp({.value = x / (1 + Abs(x))}, "x / (1 + |x|) of each element");
//   }
//
// Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_ELEMENTWISE_H_
#define CLEAVE_IR_GRAPH_OPS_ELEMENTWISE_H_

#include <string>
#include <vector>

#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rules.h"
#include "ir/graph/scalar/scalar.h"

namespace cleave::ir {

using Gradients = std::vector<std::optional<OpId>>;

// Below, "real" is f32, bf16 or f16, and the inputs and the result of one op hold the same (CheckOneFloat has the
// exception). The parameters of a function are the op's inputs, and after them its attributes, which the op adds to the
// signature and checks in its own inference.

// Real x to the same type.
OpDefinition UnaryOp(ScalarFunction function, std::string summary, ElementFunction::Numbers numbers = nullptr);

// (x, y), both real, with broadcasting.
OpDefinition BinaryOp(const Scalar& value, std::string summary);

// The same for two tensors of i32, too, whose gradients are zero.
OpDefinition ArithmeticOp(const Scalar& value, std::string summary);

// (x, y), both real or both i32, with broadcasting: 1 where `value` holds, else 0, as f32 of integers. Its gradients
// are zero.
OpDefinition ComparisonOp(const Scalar& value, std::string summary);

// An internal (dy, value) -> dx, all of one shape.
OpDefinition UnaryGradientOp(ScalarFunction function, std::string summary);

// The same without inference.
OpDefinition ElementwiseOp(ScalarFunction function, std::vector<Argument> signature, std::string summary,
                           ElementFunction::Numbers numbers = nullptr);

// Real x to the same type, for ops that need more than one element: not linear, one operation per element. Gradient and
// evaluation must still be set.
OpDefinition UnaryOp(std::string summary);

// The value of an attribute.
inline Scalar Variable(Attribute<double> key) { return Variable(std::string(key.name)); }

// A call of the function of op `kind`.
Scalar Call(OpKind kind, ScalarFunction function, std::vector<Scalar> arguments);

// Functions of ops that those of others call. Each is defined beside its op.
Scalar Sigmoid(const Scalar& x);
Scalar Sign(const Scalar& x);
Scalar Softplus(const Scalar& x);
Scalar Square(const Scalar& x);

// The op, computed in f32 even where a model is trained in bf16, because it enlarges small errors of its argument.
OpDefinition ComputedInF32(OpDefinition definition);

// For OpDefinition::evaluate: the same elements in the same order.
void CopyElements(const Evaluation& evaluation);

// For OpDefinition::gradient: ops that compute the gradients of the op's function.
Gradients ElementGradients(GraphBuilder& builder, const Op& op, OpId dy);

// For OpDefinition::gradient: zero by every input, for functions that are constant between jumps.
Gradients ZeroGradients(GraphBuilder& builder, const Op& op, OpId dy);

// An error unless inputs `a` and `b`, arguments of these names, hold one type; the help proposes a cast to f32, which
// is possible for both.
std::optional<OpError> CheckOneDType(Types inputs, int a, const std::string& name_a, int b, const std::string& name_b);

// All inputs broadcast to one shape, with elements of `dtype`; the types of the inputs' elements are not checked.
InferResult InferBroadcast(Types inputs, DType dtype);

// Rules by linearity, for OpDefinition::rule.
Rule NowhereLinearRule(Types inputs, const TensorType& output, const Attributes& attributes);
Rule FirstLinearRule(Types inputs, const TensorType& output, const Attributes& attributes);  // {{0}}

// `PerElement` operations for each element of the output.
template <int PerElement>
Flops FlopsPerElement(Types, const TensorType& output, const Attributes&) {
  return Flops(static_cast<double>(PerElement) * static_cast<double>(output.elements()));
}

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_ELEMENTWISE_H_
