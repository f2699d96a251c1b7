// The sharding rules of ops that a model defines, and of their gradients. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_CUSTOM_RULE_H_
#define CLEAVE_IR_GRAPH_OPS_CUSTOM_RULE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/custom/custom.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/kernel_call.h"

namespace cleave::ir {

// The rule of the op: the one that `form` declares, or else a whole factor per dimension. An InvalidArgument error
// where the shapes do not fit it.
absl::StatusOr<Rule> CustomOpRule(const CustomForm& form, Types inputs, const Shape& output);

// The same for a local evaluation: the factors are those of the whole op, and their sizes are local. REQUIRES: the
// whole op has a rule.
Rule LocalCustomRule(const CustomForm& form, absl::Span<const Tensor* const> inputs, const Shape& output);

// The form that inference has accepted.
CustomForm FormOf(const Attributes& attributes);

// The arguments that `custom` and `custom_gradient` have in common, and then `more`: the inputs come last.
std::vector<Argument> CustomSignature(const std::vector<Argument>& more);

// The rule of the gradient by input `input`, whose inputs are dy and those of the op. It has the same factors: those of
// the input are in the result, all others are summed over, because each of their elements contributes. It is linear in
// dy.
Rule CustomGradientRuleOf(const Rule& forward, size_t input);

// A call of a function whose body is the model's: `first`, then the arguments of the signature, of which the tensors
// are the inputs from `first_input` on, then the result.
KernelCall CustomCall(const CustomForm& form, std::string function, std::vector<CallArgument> first, int first_input);

// The arguments from which a View of the runtime is made.
CallArgument ViewArgument(int tensor);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_CUSTOM_RULE_H_
