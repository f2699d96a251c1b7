#include <numeric>

#include "codegen/source/kernel.h"

namespace cleave {
namespace {

std::vector<int64_t> ReducedAxes(const Kernel& kernel) {
  std::vector<int64_t> axes = kernel.compute.attributes.GetInts("axes");
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
  if (kernel.compute.attributes.Has("epsilon")) arguments.push_back(kernel.Float("epsilon"));
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
  EmitLoss(kernel, "Huber", {kernel.Float("delta"), kernel.Count(kernel.compute.inputs[0])});
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
  emitters["accuracy"] = Classification<kAccuracy>;
  emitters["bce_with_logits"] = Regression<kBceWithLogits>;
  emitters["cross_entropy"] = Classification<kCrossEntropy>;
  emitters["cross_entropy_gradient"] = CrossEntropyGradient;
  emitters["huber"] = Huber;
  emitters["layer_norm"] = OfRows<kLayerNorm>;
  emitters["layer_norm_gradient_input"] = OfRows<kLayerNormGradientInput>;
  emitters["layer_norm_gradient_scale"] = OfRows<kLayerNormGradientScale>;
  emitters["log_softmax"] = OfRows<kLogSoftmax>;
  emitters["log_softmax_gradient"] = OfRows<kLogSoftmaxGradient>;
  emitters["mae"] = Regression<kMae>;
  emitters["mse"] = Regression<kMse>;
  emitters["reduce_max"] = Reduce<kReduceMax>;
  emitters["reduce_mean"] = ReduceMean;
  emitters["reduce_min"] = Reduce<kReduceMin>;
  emitters["reduce_sum"] = Reduce<kReduceSum>;
  emitters["softmax"] = OfRows<kSoftmax>;
  emitters["softmax_gradient"] = OfRows<kSoftmaxGradient>;
}

}  // namespace cleave
