// Functions that allocate, or ask a library for something, do so at their first call only: recorded work is repeated
// with new numbers.
#include "runtime/device/recorded.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/device/device_vector.h"
#include "runtime/einsum/einsum.h"
#include "runtime/kernels/indexing.h"
#include "runtime/math/convolution.h"
#include "runtime/math/math.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kSize = 6;

// Every function that needs memory beside its tensors.
struct Step {
  const DeviceVector<float> x = Numbers(kSize * kSize * kSize);
  const DeviceVector<int32_t> indices{0, 2, 2, 5, 1, 0};
  const DeviceVector<float> product = Numbers(kSize * kSize);
  const DeviceVector<float> reordered = Numbers(kSize * kSize * kSize);
  const DeviceVector<float> sum = Numbers(kSize);
  const DeviceVector<float> rows = Numbers(kSize * kSize);
  const DeviceVector<float> image = Numbers(kSize * kSize);
  const DeviceVector<float> dimage = Numbers(kSize * kSize);

  static DeviceVector<float> Numbers(int64_t count) { return DeviceVector<float>(count); }

  void Run() const {
    const std::vector<int64_t> cube = {kSize, kSize, kSize};
    const Sliding piece = {.input = {0, kSize}, .output = {0, kSize}, .kernel = 2, .padding = 0};
    MatMul({.m = kSize, .n = kSize, .k = kSize}, x.get(), x.get() + kSize, product.get(), x.get());
    Einsum("i b k, k j b -> j b i", {{x.get(), cube}, {x.get(), cube}}, reordered.get());
    Einsum("i j k -> j", {{x.get(), cube}}, sum.get());
    ScatterAdd(x.get(), indices.get(), {1, kSize, kSize, kSize, 0}, rows.get());
    Conv2d({1, 1, 1, 1}, piece, piece, x.get(), x.get(), image.get());
    Conv2dGradientInput({1, 1, 1, 1}, piece, piece, x.get(), x.get(), dimage.get());
  }

  std::vector<std::vector<float>> Results() const {
    return {product.Values(), reordered.Values(), sum.Values(), rows.Values(), image.Values(), dimage.Values()};
  }
};

TEST(RecordedTest, GivesWhatCallsGive) {
  const Step recorded, called;
  Recorded recording;
  for (int step = 0; step < 4; ++step) {
    std::vector<float> numbers;
    for (int i = 0; i < kSize * kSize * kSize; ++i) numbers.push_back(static_cast<float>((i * 7 + step) % 11) - 5.0f);
    for (const Step* each : {&recorded, &called}) {
      CopyToDevice(numbers.data(), each->x.get(), each->x.size() * static_cast<int64_t>(sizeof(float)));
    }
    const Ran ran = recording.Run([&] { recorded.Run(); });
    EXPECT_EQ(ran, step == 0 ? Ran::kCalled : step == 1 ? Ran::kRecorded : Ran::kReplayed);
    called.Run();
    EXPECT_EQ(recorded.Results(), called.Results()) << "step " << step;
  }
}

}  // namespace
}  // namespace cleave::runtime
