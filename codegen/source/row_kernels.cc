#include <numeric>

#include "codegen/source/kernel.h"

namespace cleave {
namespace {

std::vector<int64_t> ReducedAxes(const Kernel& kernel) {
  std::vector<int64_t> axes = kernel.compute.attributes.Get(attribute::kAxes);
  const int64_t rank = kernel.input(0).type.rank();
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

template <const char* const& kFunction>
void Reduce(const Kernel& kernel) {
  const std::string shape = kernel.emission.sizes.ShapeList(kernel.compute.inputs[0]);
  kernel.Call(kFunction, {kernel.Input(0), shape, List(ReducedAxes(kernel)), kernel.Output()});
}

void ReduceMean(const Kernel& kernel) {
  const std::vector<int64_t> axes = ReducedAxes(kernel);
  int64_t count = 1;
  for (const int64_t axis : axes) count *= kernel.input(0).type.shape[static_cast<size_t>(axis)];
  const std::string shape = kernel.emission.sizes.ShapeList(kernel.compute.inputs[0]);
  kernel.Call("ReduceMean", {kernel.Input(0), shape, List(axes), absl::StrCat(count), kernel.Output()});
}

// f(inputs…, rows, columns, output)
template <const char* const& kFunction>
void OfRows(const Kernel& kernel) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < kernel.compute.inputs.size(); ++i) arguments.push_back(kernel.Input(i));
  arguments.push_back(kernel.Rows(0));
  arguments.push_back(kernel.Columns(0));
  if (kernel.compute.attributes.Has(attribute::kEpsilon)) arguments.push_back(kernel.Float(attribute::kEpsilon));
  arguments.push_back(kernel.Output());
  kernel.Call(kFunction, arguments);
}

// f(a, b, sizes…, all elements, mask, loss)
void EmitLoss(const Kernel& kernel, absl::string_view function, std::vector<std::string> sizes) {
  std::vector<std::string> arguments = {kernel.Input(0), kernel.Input(1)};
  arguments.insert(arguments.end(), sizes.begin(), sizes.end());
  arguments.push_back(absl::StrCat(kernel.input(1).type.elements()));
  if (kernel.compute.inputs.size() > 2) {
    const std::string per_sample = kernel.InputCount(1, 1, kernel.input(1).type.rank());
    arguments.push_back(absl::StrCat("{", kernel.Input(2), ", ", per_sample, "}"));
  } else {
    arguments.push_back("{}");
  }
  arguments.push_back(kernel.Output());
  kernel.Call(function, arguments);
}

template <const char* const& kFunction>
void Classification(const Kernel& kernel) {
  EmitLoss(kernel, kFunction, {kernel.Rows(0), kernel.Columns(0)});
}

template <const char* const& kFunction>
void Regression(const Kernel& kernel) {
  EmitLoss(kernel, kFunction, {kernel.Count(kernel.compute.inputs[0])});
}

void Huber(const Kernel& kernel) {
  EmitLoss(kernel, "Huber", {kernel.Float(attribute::kDelta), kernel.Count(kernel.compute.inputs[0])});
}

void CrossEntropyGradient(const Kernel& kernel) {
  kernel.Call("CrossEntropyGradient",
              {kernel.Input(0), kernel.Input(1), Scalar(kernel, 2), kernel.Rows(0), kernel.Columns(0),
               absl::StrCat(kernel.input(1).type.elements()), kernel.Output()});
}

constexpr const char* kReduceSum = "ReduceSum";
constexpr const char* kReduceMax = "ReduceMax";
constexpr const char* kReduceMin = "ReduceMin";
constexpr const char* kSoftmax = "Softmax";
constexpr const char* kSoftmaxGradient = "SoftmaxGradient";
constexpr const char* kLogSoftmax = "LogSoftmax";
constexpr const char* kLogSoftmaxGradient = "LogSoftmaxGradient";
constexpr const char* kLayerNorm = "LayerNorm";
constexpr const char* kLayerNormGradientInput = "LayerNormGradientInput";
constexpr const char* kLayerNormGradientScale = "LayerNormGradientScale";
constexpr const char* kCrossEntropy = "CrossEntropy";
constexpr const char* kAccuracy = "Accuracy";
constexpr const char* kBceWithLogits = "BceWithLogits";
constexpr const char* kMse = "Mse";
constexpr const char* kMae = "Mae";

}  // namespace

void AddRowKernels(Emitters& emitters) {
  emitters[OpKind::kAccuracy] = Classification<kAccuracy>;
  emitters[OpKind::kBceWithLogits] = Regression<kBceWithLogits>;
  emitters[OpKind::kCrossEntropy] = Classification<kCrossEntropy>;
  emitters[OpKind::kCrossEntropyGradient] = CrossEntropyGradient;
  emitters[OpKind::kHuber] = Huber;
  emitters[OpKind::kLayerNorm] = OfRows<kLayerNorm>;
  emitters[OpKind::kLayerNormGradientInput] = OfRows<kLayerNormGradientInput>;
  emitters[OpKind::kLayerNormGradientScale] = OfRows<kLayerNormGradientScale>;
  emitters[OpKind::kLogSoftmax] = OfRows<kLogSoftmax>;
  emitters[OpKind::kLogSoftmaxGradient] = OfRows<kLogSoftmaxGradient>;
  emitters[OpKind::kMae] = Regression<kMae>;
  emitters[OpKind::kMse] = Regression<kMse>;
  emitters[OpKind::kReduceMax] = Reduce<kReduceMax>;
  emitters[OpKind::kReduceMean] = ReduceMean;
  emitters[OpKind::kReduceMin] = Reduce<kReduceMin>;
  emitters[OpKind::kReduceSum] = Reduce<kReduceSum>;
  emitters[OpKind::kSoftmax] = OfRows<kSoftmax>;
  emitters[OpKind::kSoftmaxGradient] = OfRows<kSoftmaxGradient>;
}

}  // namespace cleave
