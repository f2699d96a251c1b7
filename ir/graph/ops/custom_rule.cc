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

void PutFirst(const std::vector<FactorList>& first, std::vector<FactorList>& dimensions) {
  dimensions.insert(dimensions.begin(), first.begin(), first.end());
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
  signature.push_back(BatchArgument());
  signature.push_back({.name = attribute::kShared.name, .kind = ArgumentKind::kInts, .internal = true});
  signature.insert(signature.end(), more.begin(), more.end());
  signature.push_back({.name = "x", .kind = ArgumentKind::kTensors});
  return signature;
}

bool IsShared(const Attributes& attributes, size_t input) {
  if (BatchOf(attributes) == 0) return true;
  const std::vector<int64_t>& shared = attributes.Get(attribute::kShared);
  return std::find(shared.begin(), shared.end(), static_cast<int64_t>(input)) != shared.end();
}

absl::StatusOr<Rule> BatchedCustomRule(const Attributes& attributes, Types inputs, const Shape& output) {
  const size_t batch = BatchOf(attributes);
  if (output.size() < batch) return absl::InvalidArgumentError("the result lacks the dimensions of `batch`");
  const auto first = static_cast<int64_t>(batch);
  std::vector<TensorType> elements(inputs.begin(), inputs.end());
  for (size_t i = 0; i < elements.size(); ++i) {
    if (IsShared(attributes, i)) continue;
    Shape& shape = elements[i].shape;
    if (shape.size() < batch || !std::equal(output.begin(), output.begin() + first, shape.begin())) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", i + 1, " lacks the dimensions of `batch`"));
    }
    shape.erase(shape.begin(), shape.begin() + first);
  }
  CLEAVE_ASSIGN_OR_RETURN(Rule rule,
                          CustomOpRule(FormOf(attributes), elements, Shape(output.begin() + first, output.end())));
  std::vector<FactorList> dimensions;
  for (size_t d = 0; d < batch; ++d) {
    // No index of a formula has a dot.
    dimensions.push_back({AddFactor(rule, absl::StrCat("e.", d), output[d])});
  }
  PutFirst(dimensions, rule.output);
  for (size_t i = 0; i < rule.inputs.size(); ++i) {
    if (!IsShared(attributes, i)) PutFirst(dimensions, rule.inputs[i]);
  }
  return rule;
}

void ForEachSlice(const Evaluation& evaluation, const std::function<bool(size_t input)>& shared,
                  const std::function<void(const Evaluation& slice)>& evaluate) {
  const size_t batch = BatchOf(evaluation.attributes);
  const auto slice_shape = [&](const Tensor& tensor) {
    return Shape(tensor.shape.begin() + static_cast<int64_t>(batch), tensor.shape.end());
  };
  Tensor output = Zeros(slice_shape(evaluation.output));
  const size_t count = evaluation.output.values.size() / std::max<size_t>(1, output.values.size());
  for (size_t e = 0; e < count; ++e) {
    std::vector<Tensor> slices(evaluation.inputs.size());
    std::vector<const Tensor*> inputs(evaluation.inputs.begin(), evaluation.inputs.end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (shared(i)) continue;
      slices[i] = Zeros(slice_shape(*inputs[i]));
      const size_t size = slices[i].values.size();
      std::copy_n(inputs[i]->values.begin() + static_cast<int64_t>(e * size), size, slices[i].values.begin());
      inputs[i] = &slices[i];
    }
    std::fill(output.values.begin(), output.values.end(), 0.0);
    Evaluation slice{.attributes = evaluation.attributes,
                     .inputs = inputs,
                     .ranges = evaluation.ranges.first(evaluation.ranges.size() - batch),
                     .output = output};
    evaluate(slice);
    std::copy(output.values.begin(), output.values.end(),
              evaluation.output.values.begin() + static_cast<int64_t>(e * output.values.size()));
  }
}

Rule CustomGradientRuleOf(const Rule& forward, const Attributes& attributes) {
  const auto input = static_cast<size_t>(attributes.Get(attribute::kInput));
  Rule rule{.factors = forward.factors, .inputs = {forward.output}, .output = forward.inputs[input], .linear = {{0}}};
  rule.inputs.insert(rule.inputs.end(), forward.inputs.begin(), forward.inputs.end());
  if (IsShared(attributes, input)) {
    const auto batch = static_cast<int64_t>(BatchOf(attributes));
    PutFirst({forward.output.begin(), forward.output.begin() + batch}, rule.output);
  }
  for (int f = 0; f < static_cast<int>(rule.factors.size()); ++f) {
    Factor& factor = rule.factors[static_cast<size_t>(f)];
    if (factor.kind == FactorKind::kWhole) continue;
    factor.kind = StandsIn(rule.output, f) ? FactorKind::kParallel : FactorKind::kReduced;
  }
  return rule;
}

KernelCall CustomCall(const CallSite& site, const CustomForm& form, std::string function, bool gradient) {
  const auto batch = static_cast<int>(BatchOf(site.attributes));
  // The arguments from which a View of the runtime is made.
  const auto view = [&](int tensor, bool shared) -> CallArgument {
    if (shared || batch == 0) return BracedList{{{Pointer{tensor}}, {LocalRegion{tensor}}}};
    const LocalSize step = site.Elements(tensor, batch, site.type(tensor).rank());
    return BracedList{{{Pointer{tensor, step}}, {LocalRegion{tensor, batch}}}};
  };
  KernelCall call = {
      .function = std::move(function), .repetitions = site.Elements(kResult, 0, batch), .header = form.body};
  if (gradient) call.arguments.push_back(view(0, false));
  size_t input = 0;
  for (const CustomArgument& argument : form.arguments) {
    if (argument.value) {
      call.arguments.push_back(NumberArgument(*argument.value));
      continue;
    }
    call.arguments.push_back(view(static_cast<int>(input) + (gradient ? 1 : 0), IsShared(site.attributes, input)));
    ++input;
  }
  call.arguments.push_back(view(kResult, false));
  return call;
}

}  // namespace cleave::ir
