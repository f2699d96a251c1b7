#include "search/testing/image_models.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "search/testing/model_builder.h"

namespace cleave::search::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Kernel {
  int64_t size = 3;
  int64_t stride = 1;
};

// Keeps the size of the images where the stride is 1.
ir::OpId Convolution(ModelBuilder& b, ir::OpId x, int64_t filters, const Kernel& kernel, const std::string& name) {
  const ir::OpId weight = b.Parameter(name + ".weight", {filters, b.shape(x)[1], kernel.size, kernel.size});
  return b.Add(ir::OpKind::kConv2d, {x, weight}, name,
               {{ir::attribute::kStride, Ints{kernel.stride, kernel.stride}},
                {ir::attribute::kPadding, Ints(2, kernel.size / 2)}});
}

ir::OpId ConvolutionRelu(ModelBuilder& b, ir::OpId x, int64_t filters, const Kernel& kernel, const std::string& name) {
  return b.Add(ir::OpKind::kRelu, {Convolution(b, x, filters, kernel, name)}, name + ".relu");
}

ir::OpId Halved(ModelBuilder& b, ir::OpId x, const std::string& name) {
  return b.Add(ir::OpKind::kMaxPool, {x}, name, {{ir::attribute::kKernel, Ints{2, 2}}});
}

ir::OpId ResidualBlock(ModelBuilder& b, ir::OpId x, int64_t channels, int64_t stride, const std::string& name) {
  const ir::OpId first = ConvolutionRelu(b, x, channels, {.stride = stride}, name + ".conv1");
  const ir::OpId second = Convolution(b, first, channels, {}, name + ".conv2");
  const bool projected = stride != 1 || b.shape(x)[1] != channels;
  const ir::OpId shortcut =
      projected ? Convolution(b, x, channels, {.size = 1, .stride = stride}, name + ".shortcut") : x;
  return b.Add(ir::OpKind::kRelu, {b.Add(ir::OpKind::kAdd, {second, shortcut}, name + ".sum")}, name + ".end");
}

ir::OpId TwoConvolutions(ModelBuilder& b, ir::OpId x, int64_t channels, const std::string& name) {
  return ConvolutionRelu(b, ConvolutionRelu(b, x, channels, {}, name + ".conv1"), channels, {}, name + ".conv2");
}

// Twice the size: four channels become the pixels of a square (Shi et al. 2016).
ir::OpId Doubled(ModelBuilder& b, ir::OpId x, int64_t channels, const std::string& name) {
  const ir::OpId wide = Convolution(b, x, 4 * channels, {.size = 1}, name + ".conv");
  const ir::Shape shape = b.shape(wide);
  const ir::OpId parts = b.Reshape(wide, {shape[0], channels, 2, 2, shape[2], shape[3]}, name + ".parts");
  const ir::OpId mixed = b.Transpose(parts, {0, 1, 4, 2, 5, 3}, name + ".mixed");
  return b.Reshape(mixed, {shape[0], channels, 2 * shape[2], 2 * shape[3]}, name + ".image");
}

}  // namespace

ir::Graph ResNet(const ResNetShape& shape) {
  ModelBuilder b;
  const ir::OpId images = b.Input("image", ir::DType::kF32, {shape.batch, 3, shape.size, shape.size});
  const ir::OpId labels = b.Input("label", ir::DType::kI32, {shape.batch});
  ir::OpId x = Halved(b, ConvolutionRelu(b, images, shape.channels, {.size = 7, .stride = 2}, "stem"), "stem.pool");
  int64_t channels = shape.channels;
  for (size_t stage = 0; stage < shape.blocks.size(); ++stage) {
    for (int64_t block = 0; block < shape.blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = ResidualBlock(b, x, channels, stride, absl::StrCat("stage", stage, ".", block));
    }
    channels *= 2;
  }
  const ir::OpId mean = b.Add(ir::OpKind::kReduceMean, {x}, "mean", {{ir::attribute::kAxes, Ints{2, 3}}});
  const ir::OpId logits = b.Dense(mean, "logits", "logits.weight", shape.classes);
  return std::move(b).Trained(b.Add(ir::OpKind::kCrossEntropy, {logits, labels}, "loss"),
                              ir::TestOptimizer::Kind::kMomentum);
}

ir::Graph UNet(const UNetShape& shape) {
  ModelBuilder b;
  ir::OpId x = b.Input("image", ir::DType::kF32, {shape.batch, 1, shape.size, shape.size});
  const ir::OpId target = b.Input("target", ir::DType::kF32, {shape.batch, 1, shape.size, shape.size});
  std::vector<ir::OpId> skips;
  int64_t channels = shape.channels;
  for (int level = 0; level < shape.levels; ++level) {
    const std::string name = absl::StrCat("down", level);
    skips.push_back(TwoConvolutions(b, x, channels, name));
    x = Halved(b, skips.back(), name + ".pool");
    channels *= 2;
  }
  x = TwoConvolutions(b, x, channels, "bottom");
  for (int level = shape.levels - 1; level >= 0; --level) {
    const std::string name = absl::StrCat("up", level);
    channels /= 2;
    const ir::OpId large = Doubled(b, x, channels, name + ".double");
    const ir::OpId both = b.Add(ir::OpKind::kConcat, {skips[static_cast<size_t>(level)], large}, name + ".both",
                                {{ir::attribute::kAxis, 1}});
    x = TwoConvolutions(b, both, channels, name);
  }
  const ir::OpId result = Convolution(b, x, 1, {.size = 1}, "result");
  return std::move(b).Trained(b.Add(ir::OpKind::kMse, {result, target}, "loss"), ir::TestOptimizer::Kind::kAdam);
}

}  // namespace cleave::search::testing
