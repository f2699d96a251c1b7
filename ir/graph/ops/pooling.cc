#include "ir/graph/ops/pooling.h"

#include "absl/strings/str_cat.h"

namespace cleave::ir {
namespace {

constexpr ImageFactors kImages = {.rows = 2, .columns = 3};

// Factors n, c, h, w; all of `inputs` read rows and columns in windows, those of input 0.
Rule ImagesRule(size_t inputs, const Shape& output, const InputWindow& rows, const InputWindow& columns,
                LinearGroups linear) {
  Rule rule;
  const char* const names[] = {"n", "c", "h", "w"};
  for (size_t d = 0; d < 4; ++d) rule.output.push_back({AddFactor(rule, names[d], output[d])});
  for (size_t i = 0; i < inputs; ++i) {
    rule.inputs.push_back(rule.output);
    for (InputWindow entry : {rows, columns}) {
      entry.input = static_cast<int>(i);
      rule.windows.push_back(entry);
    }
  }
  rule.linear = std::move(linear);
  return rule;
}

std::optional<OpError> CheckPooling(const Attributes& attributes) {
  if (auto error = CheckPair(attributes, attribute::kKernel, 1)) return error;
  if (!attributes.Get(attribute::kStride).empty()) {
    if (auto error = CheckPair(attributes, attribute::kStride, 1)) return error;
  }
  if (auto error = CheckPair(attributes, attribute::kPadding, 0)) return error;
  const Sliding2d sliding = PoolingSliding(attributes);
  for (const Sliding& along : {sliding.rows, sliding.columns}) {
    if (along.padding < along.kernel) continue;
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`padding` is ", along.padding, " for a kernel of ", along.kernel),
                   .notes = {"the kernel would see nothing but padding at its first place"}};
  }
  return std::nullopt;
}

double KernelSize(const Attributes& attributes) {
  const Pair kernel = PairOf(attributes, attribute::kKernel);
  return static_cast<double>(kernel.rows) * static_cast<double>(kernel.columns);
}

// The kernel slides over `images`; the result of the pooling is `pooled`.
std::vector<KernelCall> CallBetween(const CallSite& site, std::string function, int images, int pooled) {
  const Sliding2d sliding = PoolingSliding(site.attributes);
  ImageSides sides;
  for (int tensor = kResult; tensor < static_cast<int>(site.inputs.size()); ++tensor) {
    (tensor == images ? sides.x : sides.y).push_back(tensor);
  }
  std::vector<CallArgument> arguments = site.Inputs();
  arguments.insert(arguments.end(),
                   {site.Elements(images, 0, 2), SlidingArgument(sliding.rows, {images, 2}, {pooled, 2}),
                    SlidingArgument(sliding.columns, {images, 3}, {pooled, 3}), Pointer{kResult}, sides});
  return {{std::move(function), std::move(arguments)}};
}

}  // namespace

std::vector<Argument> PoolingSignature(std::vector<Argument> first) {
  first.push_back(RequiredAttribute(attribute::kKernel));
  first.push_back(OptionalAttribute(attribute::kStride, {}));
  first.push_back(OptionalAttribute(attribute::kPadding, {0, 0}));
  return first;
}

Attributes PoolingAttributes(const Attributes& attributes) {
  return attributes.Only(attribute::kKernel, attribute::kStride, attribute::kPadding);
}

Sliding2d PoolingSliding(const Attributes& attributes) {
  const Pair kernel = PairOf(attributes, attribute::kKernel);
  const Pair stride = attributes.Get(attribute::kStride).empty() ? kernel : PairOf(attributes, attribute::kStride);
  const Pair padding = PairOf(attributes, attribute::kPadding);
  return {.rows = {.kernel = kernel.rows, .stride = stride.rows, .padding = padding.rows},
          .columns = {.kernel = kernel.columns, .stride = stride.columns, .padding = padding.columns}};
}

InferResult InferPooling(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckImages(inputs, 0, "x")) return *error;
  if (auto error = CheckPooling(attributes)) return *error;
  const Sliding2d sliding = PoolingSliding(attributes);
  if (auto error = CheckFits(inputs, 0, sliding)) return *error;
  return TensorType{DType::kF32, SlidOver(inputs[0].shape, inputs[0].shape[1], sliding)};
}

InferResult InferPoolingGradient(Types inputs, const Attributes& attributes) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "dy")) return *error;
  if (auto error = CheckImages(inputs, 0, "dy")) return *error;
  if (auto error = CheckPooling(attributes)) return *error;
  if (auto error = CheckPair(attributes, attribute::kImageSize, 1, kMaxElements)) return *error;
  const Pair size = PairOf(attributes, attribute::kImageSize);
  const Shape& dy = inputs[0].shape;
  const Shape images = {dy[0], dy[1], size.rows, size.columns};
  const Shape expected = SlidOver(images, dy[1], PoolingSliding(attributes));
  for (const TensorType& input : inputs) {
    if (input.shape == expected) continue;
    return OpError{.code = Code::kE0411,
                   .message = absl::StrCat("a gradient of ", ShapeText(input.shape), " instead of ",
                                           ShapeText(expected), " for images of ", ShapeText(images))};
  }
  return TensorType{DType::kF32, images};
}

Rule PoolingRule(Types inputs, const TensorType& output, const Attributes& attributes, LinearGroups linear) {
  const Shape& images = inputs[0].shape;
  const Sliding2d sliding = PoolingSliding(attributes);
  return ImagesRule(1, output.shape, KernelWindow(0, kImages.rows, sliding.rows, images[2], output.shape[2]),
                    KernelWindow(0, kImages.columns, sliding.columns, images[3], output.shape[3]), std::move(linear));
}

Rule PoolingGradientRule(Types inputs, const TensorType& output, const Attributes& attributes, LinearGroups linear) {
  const Shape& dy = inputs[0].shape;
  const Sliding2d sliding = PoolingSliding(attributes);
  return ImagesRule(inputs.size(), output.shape, PlacesWindow(0, kImages.rows, sliding.rows, output.shape[2], dy[2]),
                    PlacesWindow(0, kImages.columns, sliding.columns, output.shape[3], dy[3]), std::move(linear));
}

Attributes ResizePooling(const Attributes& attributes, const Rule& resized) {
  const Sliding2d sliding = SlidingOf(resized);
  Attributes result = attributes;
  SetPair(attribute::kKernel, sliding.rows.kernel, sliding.columns.kernel, result);
  SetPair(attribute::kStride, sliding.rows.stride, sliding.columns.stride, result);
  SetPair(attribute::kPadding, sliding.rows.padding, sliding.columns.padding, result);
  if (attributes.Has(attribute::kImageSize)) {
    const Shape images = resized.OutputShape();
    SetPair(attribute::kImageSize, images[2], images[3], result);
  }
  return result;
}

Flops PoolingFlops(Types, const TensorType& output, const Attributes& attributes) {
  return Flops(static_cast<double>(output.elements()) * KernelSize(attributes));
}

Flops PoolingGradientFlops(Types inputs, const TensorType&, const Attributes& attributes) {
  return Flops(static_cast<double>(inputs[0].elements()) * KernelSize(attributes));
}

LocalSliding2d PoolingSlidingOf(const Evaluation& evaluation) {
  return SlidingOverInput(evaluation, PoolingSliding(evaluation.attributes), kImages, evaluation.inputs[0]->shape);
}

LocalSliding2d PoolingGradientSlidingOf(const Evaluation& evaluation) {
  return SlidingOverOutput(evaluation, PoolingSliding(evaluation.attributes), kImages, evaluation.inputs[0]->shape);
}

OpId BatchPooling(Lift& lift) {
  Shape folded = lift.element(0);
  folded[0] *= lift.size();
  const OpId pooled = lift.Main({lift.Reshape(lift.value(0), folded)});
  return lift.Reshape(pooled, Before(lift.size(), lift.op().type.shape));
}

std::vector<KernelCall> PoolingCall(const CallSite& site, std::string function) {
  return CallBetween(site, std::move(function), 0, kResult);
}

std::vector<KernelCall> PoolingGradientCall(const CallSite& site, std::string function) {
  return CallBetween(site, std::move(function), kResult, 0);
}

}  // namespace cleave::ir
