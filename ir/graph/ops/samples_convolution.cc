#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
namespace {

// A convolution: sizes of the images, the kernel, and the number of filters.
struct ConvolutionForm {
  Shape images;
  Ints kernel;
  int64_t filters = 1;
  Ints stride = {1, 1};
  Ints padding = {0, 0};
  Ints dilation = {1, 1};
  int64_t groups = 1;

  Shape Filter() const { return {filters, images[1] / groups, kernel[0], kernel[1]}; }
  Attributes OwnAttributes() const {
    return {{attribute::kStride, stride},
            {attribute::kPadding, padding},
            {attribute::kDilation, dilation},
            {attribute::kGroups, groups}};
  }
  Shape Output() const {
    const auto size = [&](size_t d) {
      return (images[2 + d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
    };
    return {images[0], filters, size(0), size(1)};
  }
  // Rows and columns behind the last place of the kernel.
  Ints Rest() const {
    const auto rest = [&](size_t d) {
      return (images[2 + d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) % stride[d];
    };
    return {rest(0), rest(1)};
  }
};

std::vector<ConvolutionForm> ConvolutionForms(Maker& maker) {
  const int64_t n = maker.Size(), c = maker.Size(), o = maker.Size();
  return {
      {.images = {n, c, 4, 5}, .kernel = {3, 2}, .filters = o},
      {.images = {n, c, 5, 4}, .kernel = {3, 3}, .filters = o, .padding = {1, 1}},
      {.images = {2, 1, 7, 6}, .kernel = {3, 2}, .filters = 2, .stride = {2, 3}, .padding = {1, 0}},
      // The kernel never looks at the last rows.
      {.images = {1, 2, 8, 3}, .kernel = {2, 1}, .filters = 2, .stride = {3, 2}},
      {.images = {2, 2, 7, 5}, .kernel = {3, 2}, .filters = 1, .padding = {2, 1}, .dilation = {2, 2}},
      {.images = {1, 2, 9, 6}, .kernel = {2, 3}, .filters = 2, .stride = {2, 2}, .padding = {1, 3}, .dilation = {3, 2}},
      // Some outputs see nothing but padding.
      {.images = {2, 1, 3, 3}, .kernel = {1, 2}, .filters = 2, .padding = {2, 3}},
      {.images = {n, 6, 4, 4}, .kernel = {2, 3}, .filters = 4, .padding = {0, 1}, .groups = 2},
      {.images = {2, 3, 5, 4}, .kernel = {3, 3}, .filters = 3, .stride = {2, 1}, .padding = {1, 1}, .groups = 3},
  };
}

void Conv2d(Maker& maker) {
  for (const ConvolutionForm& form : ConvolutionForms(maker)) {
    maker.Add({{form.images}, {form.Filter()}}, form.OwnAttributes());
  }
}

void Conv2dGradientInput(Maker& maker) {
  for (const ConvolutionForm& form : ConvolutionForms(maker)) {
    Attributes attributes = form.OwnAttributes();
    attributes.Set(attribute::kImageSize, Ints{form.images[2], form.images[3]});
    maker.Add({{form.Output()}, {form.Filter()}}, attributes);
  }
}

void ConvTranspose2d(Maker& maker) {
  for (const ConvolutionForm& form : ConvolutionForms(maker)) {
    Attributes attributes = form.OwnAttributes();
    attributes.Set(attribute::kOutputPadding, form.Rest());
    maker.Add({{form.Output()}, {form.Filter()}}, attributes);
  }
}

void Conv2dGradientFilter(Maker& maker) {
  for (const ConvolutionForm& form : ConvolutionForms(maker)) {
    Attributes attributes = form.OwnAttributes();
    attributes.Set(attribute::kKernel, form.kernel);
    maker.Add({{form.Output()}, {form.images}}, attributes);
  }
}

struct PoolingForm {
  Shape images;
  Ints kernel;
  Ints stride = {};  // None: the kernel's.
  Ints padding = {0, 0};

  Attributes OwnAttributes() const {
    return {{attribute::kKernel, kernel}, {attribute::kStride, stride}, {attribute::kPadding, padding}};
  }
  Attributes GradientAttributes() const {
    Attributes attributes = OwnAttributes();
    attributes.Set(attribute::kImageSize, Ints{images[2], images[3]});
    return attributes;
  }
  Shape Output() const {
    const Ints& step = stride.empty() ? kernel : stride;
    const auto size = [&](size_t d) { return (images[2 + d] + 2 * padding[d] - kernel[d]) / step[d] + 1; };
    return {images[0], images[1], size(0), size(1)};
  }
};

std::vector<PoolingForm> PoolingForms(Maker& maker) {
  const int64_t n = maker.Size(), c = maker.Size();
  return {
      {.images = {n, c, 4, 6}, .kernel = {2, 2}},
      {.images = {2, 2, 7, 5}, .kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}},
      {.images = {n, 1, 5, 7}, .kernel = {3, 3}, .stride = {1, 2}, .padding = {2, 0}},
      // Between the kernel's places there are elements at which it never looks.
      {.images = {1, 2, 8, 6}, .kernel = {2, 1}, .stride = {3, 2}},
  };
}

void Pooling(Maker& maker, Fill fill) {
  for (const PoolingForm& form : PoolingForms(maker)) maker.Add({{form.images, fill}}, form.OwnAttributes());
}

}  // namespace

void AddConvolutionSamples(Forms& forms) {
  forms[OpKind::kConv2d] = Conv2d;
  forms[OpKind::kConv2dGradientInput] = Conv2dGradientInput;
  forms[OpKind::kConv2dGradientFilter] = Conv2dGradientFilter;
  forms[OpKind::kConvTranspose2d] = ConvTranspose2d;
  for (const OpKind op : {OpKind::kMaxPool, OpKind::kMaxPoolIndex}) {
    forms[op] = [](Maker& maker) { Pooling(maker, Fill::kDistinct); };
  }
  forms[OpKind::kAvgPool] = [](Maker& maker) { Pooling(maker, Fill::kSigned); };
  // Labels are indexes of the kernel's first taps.
  forms[OpKind::kMaxPoolGradient] = [](Maker& maker) {
    for (const PoolingForm& form : PoolingForms(maker)) {
      maker.Add({{form.Output()}, {form.Output(), Fill::kLabels}}, form.GradientAttributes());
    }
  };
  forms[OpKind::kAvgPoolGradient] = [](Maker& maker) {
    for (const PoolingForm& form : PoolingForms(maker)) maker.Add({{form.Output()}}, form.GradientAttributes());
  };
}

}  // namespace cleave::ir
