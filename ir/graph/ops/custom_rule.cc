#include "ir/graph/ops/custom_rule.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/match/match.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/rules.h"
#include "ir/tensor/formula/formula.h"
#include "ir/tensor/formula/formula_rule.h"

namespace cleave::ir {
namespace {

std::vector<FactorList> WholeDimensions(Rule& rule, const std::string& tensor, const Shape& shape) {
  std::vector<FactorList> dimensions;
  for (size_t d = 0; d < shape.size(); ++d) {
    dimensions.push_back({AddFactor(rule, absl::StrCat(tensor, ".", d), shape[d], FactorKind::kWhole)});
  }
  return dimensions;
}

Rule WholeRule(Types inputs, const Shape& output) {
  Rule rule;
  for (size_t i = 0; i < inputs.size(); ++i) {
    rule.inputs.push_back(WholeDimensions(rule, absl::StrCat("x", i), inputs[i].shape));
  }
  rule.output = WholeDimensions(rule, "y", output);
  return rule;
}

bool StandsIn(const std::vector<FactorList>& dimensions, int factor) {
  return std::any_of(dimensions.begin(), dimensions.end(), [&](const FactorList& dimension) {
    return std::find(dimension.begin(), dimension.end(), factor) != dimension.end();
  });
}

CallArgument NumberArgument(const std::variant<bool, int64_t, double>& value) {
  return Match(
      value, [](bool truth) -> CallArgument { return truth; }, [](int64_t number) -> CallArgument { return number; },
      [](double number) -> CallArgument { return FloatNumber{number}; });
}

}  // namespace

absl::StatusOr<Rule> CustomOpRule(const CustomForm& form, Types inputs, const Shape& output) {
  Rule rule;
  if (form.rule.empty()) {
    rule = WholeRule(inputs, output);
  } else {
    CLEAVE_ASSIGN_OR_RETURN(const Formula formula, ParseFormula(form.rule));
    std::vector<Shape> shapes;
    for (const TensorType& input : inputs) shapes.push_back(input.shape);
    CLEAVE_ASSIGN_OR_RETURN(
        rule, RuleOfFormula(formula, std::set<std::string>(form.whole.begin(), form.whole.end()), shapes, output));
  }
  rule.linear = form.LinearInputs();
  return rule;
}

Rule LocalCustomRule(const CustomForm& form, absl::Span<const Tensor* const> inputs, const Shape& output) {
  std::vector<TensorType> types;
  for (const Tensor* input : inputs) types.push_back({DType::kF32, input->shape});
  absl::StatusOr<Rule> rule = CustomOpRule(form, types, output);
  CLEAVE_CHECK(rule.ok()) << rule.status().message();
  return *std::move(rule);
}

CustomForm FormOf(const Attributes& attributes) {
  absl::StatusOr<CustomForm> form = CustomForm::Read(attributes);
  CLEAVE_CHECK(form.ok()) << form.status().message();
  return *std::move(form);
}

std::vector<Argument> CustomSignature(const std::vector<Argument>& more) {
  std::vector<Argument> signature;
  for (const auto key : {attribute::kOp, attribute::kArguments, attribute::kRule, attribute::kWhole, attribute::kLinear,
                         attribute::kBody}) {
    signature.push_back(RequiredAttribute(key));
  }
  signature.insert(signature.end(), more.begin(), more.end());
  signature.push_back({.name = "x", .kind = ArgumentKind::kTensors});
  return signature;
}

Rule CustomGradientRuleOf(const Rule& forward, size_t input) {
  Rule rule{.factors = forward.factors, .inputs = {forward.output}, .output = forward.inputs[input], .linear = {{0}}};
  rule.inputs.insert(rule.inputs.end(), forward.inputs.begin(), forward.inputs.end());
  for (int f = 0; f < static_cast<int>(rule.factors.size()); ++f) {
    Factor& factor = rule.factors[static_cast<size_t>(f)];
    if (factor.kind == FactorKind::kWhole) continue;
    factor.kind = StandsIn(rule.output, f) ? FactorKind::kParallel : FactorKind::kReduced;
  }
  return rule;
}

KernelCall CustomCall(const CustomForm& form, std::string function, std::vector<CallArgument> first, int first_input) {
  KernelCall call = {.function = std::move(function), .arguments = std::move(first), .header = form.body};
  for (const CustomArgument& argument : form.arguments) {
    call.arguments.push_back(argument.value ? NumberArgument(*argument.value) : ViewArgument(first_input++));
  }
  call.arguments.push_back(ViewArgument(kResult));
  return call;
}

CallArgument ViewArgument(int tensor) { return BracedList{{{Pointer{tensor}}, {LocalRegion{tensor}}}}; }

}  // namespace cleave::ir
