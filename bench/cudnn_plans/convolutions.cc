// Makes the plans of cuDNN for convolutions and their gradients without a device, for GPUs that are described in JSON:
// those of a ResNet-50 at batch 64 in bf16, those of examples/resnet, and others that models may ask for. Prints the
// workspace that they take, with numbers for the reasons why some are refused, and these reasons.
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/cudnn_plans/gpus.h"
#include "runtime/math/cudnn/convolution_graph.h"

namespace cleave::runtime {
namespace {

// Square images, or rows of one dimension.
struct Case {
  std::string of;
  ConvolutionType type = ConvolutionType::kBf16;
  int64_t samples = 64;
  int64_t channels = 0;
  int64_t filters = 0;
  int64_t groups = 1;
  int64_t size = 0;
  Sliding slide = {};  // Of both dimensions, but for their sizes.
  bool is_row = false;

  Sliding Along(bool is_single) const {
    Sliding sliding = is_single ? Sliding() : slide;
    sliding.input = {0, is_single ? 1 : size};
    const int64_t span = sliding.dilation * (sliding.kernel - 1) + 1;
    sliding.output = {0, (sliding.input.size + 2 * sliding.padding - span) / sliding.stride + 1};
    return sliding;
  }
  ConvolutionCall Call(Direction direction) const {
    // As convolution.cu asks: f32 without tensor cores lies plane by plane.
    return {.direction = direction,
            .type = type,
            .gives_floats = direction == Direction::kGradientFilter,
            .channels_last = type != ConvolutionType::kFloat,
            .alignment = 16,
            .sizes = {samples, channels, filters, channels / groups},
            .rows = cleave::runtime::Along(Along(is_row)),
            .columns = cleave::runtime::Along(Along(false))};
  }
};

// The convolutions of a residual network of bottlenecks for images of 224 x 224, each once.
void AddResnet50(std::vector<Case>& cases) {
  const auto add = [&](int64_t channels, int64_t filters, int64_t size, Sliding slide) {
    cases.push_back({.of = "ResNet-50", .channels = channels, .filters = filters, .size = size, .slide = slide});
  };
  const Sliding one = {.kernel = 1}, three = {.kernel = 3, .padding = 1};
  add(3, 64, 224, {.kernel = 7, .stride = 2, .padding = 3});
  int64_t channels = 64, size = 56;
  for (const int64_t width : {64, 128, 256, 512}) {
    const int64_t stride = width == 64 ? 1 : 2;
    add(channels, width, size, one);
    add(width, width, size, {.kernel = 3, .stride = stride, .padding = 1});
    add(channels, 4 * width, size, {.kernel = 1, .stride = stride});
    size /= stride;
    channels = 4 * width;
    if (width != 64) add(width, width, size, three);
    if (width != 64) add(width, channels, size, one);
    add(channels, width, size, one);
  }
}

void AddExampleResnet(std::vector<Case>& cases, ConvolutionType type) {
  const auto add = [&](int64_t channels, int64_t filters, int64_t size, Sliding slide) {
    cases.push_back({.of = "examples/resnet",
                     .type = type,
                     .channels = channels,
                     .filters = filters,
                     .size = size,
                     .slide = slide});
  };
  add(1, 16, 28, {.kernel = 3, .padding = 1});
  add(16, 16, 28, {.kernel = 3, .padding = 1});
  for (const int64_t width : {32, 64}) {
    const int64_t size = width == 32 ? 28 : 14;
    add(width / 2, width, size, {.kernel = 3, .stride = 2, .padding = 1});
    add(width / 2, width, size, {.kernel = 1, .stride = 2});
    add(width, width, size / 2, {.kernel = 3, .padding = 1});
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  AddResnet50(cases);
  for (const ConvolutionType type : {ConvolutionType::kFloat, ConvolutionType::kTf32, ConvolutionType::kBf16}) {
    AddExampleResnet(cases, type);
  }
  const Sliding padded = {.kernel = 3, .padding = 1};
  for (const ConvolutionType type : {ConvolutionType::kFloat, ConvolutionType::kTf32, ConvolutionType::kBf16}) {
    const auto add = [&](const char* of, Case each) {
      each.of = of;
      each.type = type;
      cases.push_back(each);
    };
    add("depthwise", {.samples = 32, .channels = 96, .filters = 96, .groups = 96, .size = 28, .slide = padded});
    add("groups", {.samples = 32, .channels = 128, .filters = 128, .groups = 4, .size = 28, .slide = padded});
    add("groups of 3 channels", {.samples = 2, .channels = 6, .filters = 4, .groups = 2, .size = 5, .slide = padded});
    add("dilated", {.samples = 32,
                    .channels = 64,
                    .filters = 64,
                    .size = 28,
                    .slide = {.kernel = 3, .padding = 2, .dilation = 2}});
    add("odd sizes",
        {.samples = 3, .channels = 5, .filters = 7, .size = 9, .slide = {.kernel = 2, .stride = 3, .padding = 1}});
    add("rows", {.samples = 16, .channels = 64, .filters = 128, .size = 1000, .slide = padded, .is_row = true});
    add("patches", {.samples = 64, .channels = 3, .filters = 768, .size = 224, .slide = {.kernel = 16, .stride = 16}});
  }
  return cases;
}

const char* NameOf(ConvolutionType type) {
  switch (type) {
    case ConvolutionType::kFloat:
      return "f32";
    case ConvolutionType::kTf32:
      return "tf32";
    case ConvolutionType::kBf16:
      return "bf16";
    case ConvolutionType::kF16:
      return "f16";
  }
  return "";
}

std::string WorkspaceOf(const Gpu& gpu, const std::shared_ptr<cudnn_frontend::DeviceProperties>& device,
                        const ConvolutionCall& call, Reasons& reasons) {
  cudnn_frontend::graph::Graph graph;
  graph.set_device_properties(device);
  graph.set_sm_version(gpu.version / 10);
  Describe(call, graph);
  const cudnn_frontend::error_t error = MakePlan(graph, call);
  if (error.is_good() || !IsWidened(call)) return WorkspaceText(graph, error, reasons);
  // As convolution.cu then asks.
  ConvolutionCall in_floats = call;
  in_floats.type = ConvolutionType::kTf32;
  return WorkspaceOf(gpu, device, in_floats, reasons) + " in tf32";
}

void PrintTable() {
  Reasons reasons;
  std::vector<std::shared_ptr<cudnn_frontend::DeviceProperties>> devices;
  std::printf("| of | type | images | filters |");
  for (const Gpu& gpu : kGpus) {
    devices.push_back(DescribedGpu(gpu));
    std::printf(" %s |", gpu.name);
  }
  std::printf("\n|---|---|---|---|---|---|---|---|\n");
  for (const Case& each : Cases()) {
    const Sliding& slide = each.slide;
    std::printf("| %s | %s | %" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64 " | %" PRId64 " x %" PRId64
                " x %" PRId64 " x %" PRId64 ", stride %" PRId64 " |",
                each.of.c_str(), NameOf(each.type), each.samples, each.channels, each.is_row ? int64_t{1} : each.size,
                each.size, each.filters, each.channels / each.groups, each.is_row ? int64_t{1} : slide.kernel,
                slide.kernel, slide.stride);
    for (size_t i = 0; i < devices.size(); ++i) {
      const auto bytes = [&](Direction direction) {
        return WorkspaceOf(kGpus[i], devices[i], each.Call(direction), reasons);
      };
      const std::string forward = bytes(Direction::kForward), by_x = bytes(Direction::kGradientInput);
      std::printf(" %s / %s / %s |", forward.c_str(), by_x.c_str(), bytes(Direction::kGradientFilter).c_str());
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  reasons.Print();
}

}  // namespace
}  // namespace cleave::runtime

int main() { cleave::runtime::PrintTable(); }
