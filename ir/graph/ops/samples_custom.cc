#include "ir/graph/custom/custom.h"
#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
namespace {

struct CustomSample {
  CustomForm form;
  std::vector<InputForm> inputs;
  Shape output;
  int64_t batch = 0;
  std::vector<int64_t> shared = {};

  // Adds what says for which elements the op is made.
  void Write(Attributes& attributes) const {
    form.Write(attributes);
    if (batch == 0) return;
    attributes.Set(attribute::kBatch, batch);
    attributes.Set(attribute::kShared, shared);
  }
};

std::vector<CustomSample> CustomSamples(Maker& maker) {
  const int64_t n = maker.Size(), k = maker.Size(), h = maker.Size();
  const auto form = [](std::vector<CustomArgument> arguments, std::string rule, std::vector<std::string> whole = {},
                       std::vector<std::vector<std::string>> linear = {}) {
    return CustomForm{.name = "sample",
                      .arguments = std::move(arguments),
                      .rule = std::move(rule),
                      .whole = std::move(whole),
                      .linear = std::move(linear),
                      .body = "custom/sample.h"};
  };
  return {
      // An elementwise op; one with a vector; one with a row that is read as a whole.
      {form({{"x"}, {"cap", 30.0}}, "n k -> n k"), {{{n, k}}}, {n, k}},
      {form({{"x"}, {"s"}}, "n k, k -> n k", {}, {{"x"}}), {{{n, k}}, {{k}}}, {n, k}},
      {form({{"x"}}, "n k -> n k", {"k"}), {{{n, k}}}, {n, k}},
      // Reductions, also to a scalar; linear in two inputs together and in a third.
      {form({{"x"}, {"y"}, {"z"}}, "n k, n k, k -> n", {}, {{"x", "y"}, {"z"}}), {{{n, k}}, {{n, k}}, {{k}}}, {n}},
      {form({{"x"}}, "n k -> ()"), {{{n, k}}}, {}},
      // Compound and broadcast dimensions; an index that only the result has.
      {form({{"x"}, {"y"}}, "(h k) 1, n -> n h k"), {{{h * k, 1}}, {{n}}}, {n, h, k}},
      {form({{"x"}}, "n -> n k"), {{{n}}}, {n, k}},
      // Integers beside reals, and no rule.
      {form({{"x"}, {"label"}}, "n k, n -> n", {"k"}), {{{n, k}}, {{n}, Fill::kLabels}}, {n}},
      {form({{"x"}, {"y"}}, "", {}, {{"y"}}), {{{n, k}}, {{h}}}, {k}},
      // For each of many elements, which share some inputs; levels of them.
      {form({{"x"}, {"s"}, {"z"}}, "n k, k, n -> n", {"k"}, {{"s"}}), {{{h, n, k}}, {{k}}, {{h, n}}}, {h, n}, 1, {1}},
      {form({{"x"}, {"y"}}, ""), {{{2}}, {{2, h, n}}}, {2, h, k}, 2, {0}},
  };
}

void CustomForms(Maker& maker) {
  for (const CustomSample& sample : CustomSamples(maker)) {
    Attributes attributes = {{attribute::kDType, DType::kF32}, {attribute::kShape, sample.output}};
    sample.Write(attributes);
    maker.Add(sample.inputs, attributes);
  }
}

void CustomGradientForms(Maker& maker) {
  for (const CustomSample& sample : CustomSamples(maker)) {
    std::vector<InputForm> inputs = {{sample.output}};
    inputs.insert(inputs.end(), sample.inputs.begin(), sample.inputs.end());
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      if (sample.inputs[i].fill == Fill::kLabels) continue;
      Attributes attributes = {{attribute::kInput, static_cast<int64_t>(i)}};
      sample.Write(attributes);
      maker.Add(inputs, attributes);
    }
  }
}

}  // namespace

void AddCustomSamples(Forms& forms) {
  forms[OpKind::kCustom] = CustomForms;
  forms[OpKind::kCustomGradient] = CustomGradientForms;
}

}  // namespace cleave::ir
