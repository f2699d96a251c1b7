#include <functional>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "ir/memory/need.h"

namespace cleave {
namespace {

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

enum class Gradient { kNone, kImages, kFilters };

// A convolution's tensors in the blocked layouts that oneDNN takes: channels in blocks, the last one padded. Images of
// few channels stay as they are.
Need Convolution(const Program& program, ValueId x, ValueId filter, ValueId y, Gradient gradient) {
  const Shape images = LargestLocalShape(program, x);
  const Shape filters = LargestLocalShape(program, filter);
  const Shape results = LargestLocalShape(program, y);
  constexpr int64_t kLanes = 16;  // Of an AVX-512 register.
  constexpr int64_t kFewChannels = 3;
  const bool narrow = filters[1] < kLanes && gradient != Gradient::kImages;
  // For the filters' gradient of images in between, oneDNN falls back to AVX2.
  const bool falls_back = narrow && gradient == Gradient::kFilters && filters[1] > kFewChannels;
  const int64_t block = falls_back ? kLanes / 2 : kLanes;
  const bool plain = narrow && !falls_back;
  const auto elements = [&](ValueId value, const Shape& shape, int64_t outer, int64_t inner) {
    return ElementSize(program.value(value).type.dtype) * (outer * inner * shape[2] * shape[3]);
  };
  return {
      .images = plain ? Bytes(0) : elements(x, images, images[0], RoundUp(images[1], block)),
      .filters = elements(filter, filters, RoundUp(filters[0], block), plain ? filters[1] : RoundUp(filters[1], block)),
      .results = elements(y, results, results[0], RoundUp(results[1], block))};
}

// The first intermediate result of a reduction over dimensions that are not neighbours: the last run of them is reduced
// first.
Bytes ReductionParts(const Program& program, const Compute& compute) {
  const Shape shape = LargestLocalShape(program, compute.inputs[0]);
  const std::vector<int64_t>& axes = compute.attributes.Get(attribute::kAxes);
  const auto reduced = [&](size_t d) { return axes.empty() || absl::c_linear_search(axes, static_cast<int64_t>(d)); };
  size_t end = shape.size();
  while (end > 0 && !reduced(end - 1)) --end;
  size_t begin = end;
  while (begin > 0 && reduced(begin - 1)) --begin;
  const auto product = [&](size_t from, size_t to) {
    return ElementCount(
        Shape(shape.begin() + static_cast<std::ptrdiff_t>(from), shape.begin() + static_cast<std::ptrdiff_t>(to)));
  };
  for (size_t d = 0; d < begin; ++d) {
    if (reduced(d)) return Floats(product(0, begin) * product(end, shape.size()));
  }
  return Bytes(0);
}

using NeedOfKind = std::function<Need(const Program&, const Compute&)>;

// A mean that is added up in row order first has a number for each row: as many as input `input` has elements.
NeedOfKind MeanOver(size_t input) {
  return [input](const Program& program, const Compute& compute) {
    return Need{.temporary = Floats(LocalElements(program, compute.inputs[input]))};
  };
}

Need Reduction(const Program& program, const Compute& compute) {
  return {.temporary = ReductionParts(program, compute)};
}

// The op kinds whose kernels take something as large as a tensor.
const std::map<OpKind, NeedOfKind>& NeedsByKind() {
  static const auto* const needs = new std::map<OpKind, NeedOfKind>{
      {OpKind::kAccuracy, MeanOver(1)},
      {OpKind::kBceWithLogits, MeanOver(0)},
      {OpKind::kConv2d,
       [](const Program& program, const Compute& compute) {
         return Convolution(program, compute.inputs[0], compute.inputs[1], compute.output, Gradient::kNone);
       }},
      {OpKind::kConv2dGradientFilter,
       [](const Program& program, const Compute& compute) {
         return Convolution(program, compute.inputs[1], compute.output, compute.inputs[0], Gradient::kFilters);
       }},
      {OpKind::kConv2dGradientInput,
       [](const Program& program, const Compute& compute) {
         return Convolution(program, compute.output, compute.inputs[1], compute.inputs[0], Gradient::kImages);
       }},
      {OpKind::kCrossEntropy, MeanOver(1)},
      {OpKind::kEinsum, [](const Program& program,
                           const Compute& compute) { return Need{.temporary = EinsumCopies(program, compute)}; }},
      {OpKind::kHuber, MeanOver(0)},
      {OpKind::kLabelLoss, MeanOver(1)},
      {OpKind::kLayerNormGradientScale, MeanOver(0)},
      {OpKind::kMae, MeanOver(0)},
      {OpKind::kMse, MeanOver(0)},
      {OpKind::kReduceMax, Reduction},
      {OpKind::kReduceMean, Reduction},
      {OpKind::kReduceMin, Reduction},
      {OpKind::kReduceSum, Reduction},
      {OpKind::kShareOfEqual, MeanOver(0)},
  };
  return *needs;
}

}  // namespace

Need NeedOf(const Program& program, const Compute& compute) {
  const auto found = NeedsByKind().find(compute.kind);
  return found == NeedsByKind().end() ? Need{} : found->second(program, compute);
}

}  // namespace cleave
