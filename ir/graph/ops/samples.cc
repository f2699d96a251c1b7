#include "ir/graph/ops/samples.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
namespace {

Tensor Filled(const InputForm& form, Random& random) {
  Tensor tensor = Zeros(form.shape);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    double& value = tensor.values[i];
    switch (form.fill) {
      case Fill::kSigned:
        value = std::uniform_real_distribution<double>(0.3, 2)(random) * (random() % 2 == 0 ? 1 : -1);
        break;
      case Fill::kPositive:
        value = std::uniform_real_distribution<double>(0.3, 2)(random);
        break;
      case Fill::kDistinct:
        value = 0.02 * static_cast<double>(i);
        break;
      case Fill::kLabels:
        value = static_cast<double>(RandomInt(random, 0, 2));
        break;
      case Fill::kNumbers:
      case Fill::kFactors:
        value = static_cast<double>(RandomInt(random, -3, 3));
        break;
      case Fill::kMask:
        value = static_cast<double>(random() % 2);
        break;
    }
  }
  if (form.fill == Fill::kDistinct) std::shuffle(tensor.values.begin(), tensor.values.end(), random);
  return tensor;
}
}  // namespace

void Maker::Add(const std::vector<InputForm>& inputs, Attributes attributes,
                void (*complete)(const Attributes& attributes, std::vector<Tensor>& inputs)) {
  Sample sample{.op = &op_,
                .attributes = std::move(attributes),
                .types = {},
                .inputs = {},
                .fills = {},
                .output = {},
                .rule = {},
                .complete = complete};
  for (const InputForm& form : inputs) {
    const DType dtype = form.fill == Fill::kLabels    ? DType::kI32
                        : form.fill == Fill::kNumbers ? DType::kI8
                        : form.fill == Fill::kFactors ? DType::kF8E4M3
                                                      : DType::kF32;
    sample.types.push_back({dtype, form.shape});
    sample.inputs.push_back(Filled(form, random_));
    sample.fills.push_back(form.fill);
  }
  const auto error = CompleteAttributes(op_, inputs.size(), sample.attributes);
  CLEAVE_CHECK(!error.has_value()) << op_.kind << ": " << error->message;
  const InferResult result = InferType(op_, sample.types, sample.attributes);
  const OpError* refused = std::get_if<OpError>(&result);
  CLEAVE_CHECK(refused == nullptr) << op_.kind << ": " << refused->message;
  sample.output = std::get<TensorType>(result);
  sample.rule = op_.rule(sample.types, sample.output, sample.attributes);
  if (complete != nullptr) complete(sample.attributes, sample.inputs);
  samples.push_back(std::move(sample));
}

std::string Sample::Text() const {
  std::string text = absl::StrCat(op->name(), " ", rule.ToString(), ":");
  for (const TensorType& type : types) absl::StrAppend(&text, " ", type.ToString());
  return absl::StrCat(text, " -> ", output.ToString());
}

std::vector<Sample> SamplesOf(OpKind op, Random& random) {
  Forms forms;
  AddAttentionSamples(forms);
  AddConvolutionSamples(forms);
  AddCustomSamples(forms);
  AddElementwiseSamples(forms);
  AddManualSamples(forms);
  AddReductionSamples(forms);
  AddMovementSamples(forms);
  AddIndexingSamples(forms);
  AddProductSamples(forms);
  AddRankingSamples(forms);
  AddSourceSamples(forms);
  const auto form = forms.find(op);
  if (form == forms.end()) return {};
  Maker maker(DefinitionOf(op), random);
  form->second(maker);
  return std::move(maker.samples);
}

int64_t RandomInt(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

Tensor RandomTensor(const Shape& shape, double low, double high, Random& random) {
  Tensor tensor = Zeros(shape);
  std::uniform_real_distribution<double> distribution(low, high);
  for (double& value : tensor.values) value = distribution(random);
  return tensor;
}

Tensor Evaluate(const Sample& sample, const std::vector<Tensor>& inputs, const Shape& output_shape,
                const std::vector<FactorRange>& ranges) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  Tensor output = Zeros(output_shape);
  sample.op->evaluate(
      Evaluation{.attributes = sample.attributes, .inputs = pointers, .ranges = ranges, .output = output});
  return output;
}

Tensor EvaluateWhole(const Sample& sample, const std::vector<Tensor>& inputs) {
  return Evaluate(sample, inputs, sample.output.shape, WholeRanges(sample.rule));
}

}  // namespace cleave::ir
