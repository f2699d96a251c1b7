// Continuously differentiable exponential linear unit: Barron, 2017.
//   x where it is positive, else alpha (exp(x / alpha) - 1)

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

constexpr Attribute<double> kAlpha{"alpha"};

InferResult InferCelu(Types inputs, const Attributes& attributes) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  if (auto error = CheckFinite(attributes, kAlpha)) return *error;
  const double alpha = attributes.Get(kAlpha);
  if (alpha > 0) return inputs[0];
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`alpha` is ", FormatDouble(alpha)),
                 .notes = {"large negative numbers give minus alpha, and alpha must be positive"}};
}

}  // namespace

// exp(u) - 1 = tanh(u / 2) (exp(u) + 1), which keeps its digits where u is small.
OpDefinition DefineCelu() {
  const Scalar x = Variable("x"), alpha = Variable(kAlpha);
  const Scalar u = x / alpha;
  OpDefinition definition = UnaryOp({.parameters = {"x", kAlpha.name},
                                     .value = Select(x > 0, x, alpha * Tanh(u / 2) * (Exp(u) + 1)),
                                     .gradients = {Dy() * Select(x > 0, 1, Exp(u))}},
                                    "each element, or alpha (exp(x / alpha) - 1) where it is negative");
  definition.signature.push_back(OptionalAttribute(kAlpha, 1));
  definition.infer = InferCelu;
  return definition;
}

}  // namespace cleave::ir
