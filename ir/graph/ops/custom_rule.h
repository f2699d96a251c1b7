// The sharding rules of ops that a model defines, and of their gradients. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_CUSTOM_RULE_H_
#define CLEAVE_IR_GRAPH_OPS_CUSTOM_RULE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/custom/custom.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/kernel_call.h"

namespace cleave::ir {

// The rule of the op for one element: the one that `form` declares, or else a whole factor per dimension. An
// InvalidArgument error where the shapes do not fit it.
absl::StatusOr<Rule> CustomOpRule(const CustomForm& form, Types inputs, const Shape& output);

// The same for a local evaluation: the factors are those of the whole op, and their sizes are local. REQUIRES: the
// whole op has a rule.
Rule LocalCustomRule(const CustomForm& form, absl::Span<const Tensor* const> inputs, const Shape& output);

// The form that inference has accepted.
CustomForm FormOf(const Attributes& attributes);

// Under `vmap` an op of the model has the attribute `batch`: the first dimensions of the result, and of every input
// that is not `shared`, are those of the elements, for each of which the body is called on slices.
bool IsShared(const Attributes& attributes, size_t input);

// The rule of the op for all elements: that for one, whose factors come first, and behind them a parallel factor for
// each dimension of `batch`.
absl::StatusOr<Rule> BatchedCustomRule(const Attributes& attributes, Types inputs, const Shape& output);

// Calls `evaluate` with the slices of every element in turn; `shared(i)`: all elements read the whole input i.
void ForEachSlice(const Evaluation& evaluation, const std::function<bool(size_t input)>& shared,
                  const std::function<void(const Evaluation& slice)>& evaluate);

// The arguments that `custom` and `custom_gradient` have in common, and then `more`: the inputs come last.
std::vector<Argument> CustomSignature(const std::vector<Argument>& more);

// The rule of the gradient by input `input`, whose inputs are dy and those of the op. It has the same factors: those of
// the input, and those of `batch`, are in the result, all others are summed over, because each of their elements
// contributes. It is linear in dy.
Rule CustomGradientRuleOf(const Rule& forward, const Attributes& attributes);

// A call of a function whose body is the model's, for each element of `batch`: dy if `gradient`, then the arguments of
// the signature, then the result.
KernelCall CustomCall(const CallSite& site, const CustomForm& form, std::string function, bool gradient);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_CUSTOM_RULE_H_
