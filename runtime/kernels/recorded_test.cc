// Kernels as part of recorded work: a replayed kernel reads what is in memory at that time, and uses no memory that
// another call has taken meanwhile.
#include "runtime/device/recorded.h"

#include "runtime/kernels/dropout.h"
#include "runtime/kernels/losses.h"
#include "runtime/kernels/movement.h"
#include "runtime/kernels/reduce.h"
#include "runtime/kernels/rows.h"
#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kRows = 60;
constexpr int64_t kColumns = 24;

// A small part of a training step, with the memory of its results.
class Work {
 public:
  explicit Work(uint32_t seed) { Set(seed); }

  // Writes other numbers to the same places.
  void Set(uint32_t seed) {
    const std::vector<float> values = RandomValues(kRows * kColumns, seed);
    CopyToDevice(values.data(), x_.get(), kRows * kColumns * static_cast<int64_t>(sizeof(float)));
    const float loss_gradient = static_cast<float>(seed);
    CopyToDevice(&loss_gradient, dloss_.get(), sizeof loss_gradient);
    const uint64_t step = seed;
    CopyToDevice(&step, step_.get(), sizeof step);
  }

  void Ask() {
    Dropout({7, "dropout", step_.get()}, WholeRegion({kRows, kColumns}), 0.5f, x_, dropped_);
    Softmax(dropped_, kRows, kColumns, softmax_);
    CrossEntropy(dropped_, label_, kRows, kColumns, kRows, SampleMask{}, loss_);
    CrossEntropyGradient(dropped_, label_, dloss_.get(), kRows, kColumns, kRows, gradient_);
    LayerNormGradient(gradient_, x_, nullptr, nullptr, kRows, kColumns, {}, nullptr, nullptr, scale_gradient_, nullptr);
    ReduceSum(gradient_, {kRows, kColumns}, {0}, bias_gradient_);
    ReduceMax(x_, {5, 12, 2, 12}, {1, 3}, largest_);
    Transpose<float>(softmax_, {kRows, kColumns}, {1, 0}, transposed_);
    CopyBox<float>(transposed_, {kColumns, kRows}, {3, 8}, {9, 40}, box_);
    CausalMask<float>(box_, 1, 9, 40, 20, 0, 0, -1.0f, masked_);
  }

  std::vector<float> Results() const {
    std::vector<float> all;
    for (const Placed<float>* result : {&loss_, &scale_gradient_, &bias_gradient_, &largest_, &masked_}) {
      const std::vector<float> values = result->Values();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  const Placed<float> x_ = Placed<float>(kRows * kColumns);
  const Placed<float> dloss_ = Placed<float>(1);
  const DeviceVector<uint64_t> step_ = DeviceVector<uint64_t>(1);
  const Placed<int32_t> label_ = Placed<int32_t>(std::vector<int32_t>(kRows, 5));
  const Placed<float> dropped_ = Placed<float>(kRows * kColumns);
  const Placed<float> softmax_ = Placed<float>(kRows * kColumns);
  const Placed<float> loss_ = Placed<float>(1);
  const Placed<float> gradient_ = Placed<float>(kRows * kColumns);
  const Placed<float> scale_gradient_ = Placed<float>(kColumns);
  const Placed<float> bias_gradient_ = Placed<float>(kColumns);
  const Placed<float> largest_ = Placed<float>(10);
  const Placed<float> transposed_ = Placed<float>(kRows * kColumns);
  const Placed<float> box_ = Placed<float>(9 * 40);
  const Placed<float> masked_ = Placed<float>(9 * 40);
};

TEST(RecordedKernels, ReadWhatStandsInMemoryThen) {
  Work recorded(0);
  Recorded recording;
  for (uint32_t run = 1; run <= 5; ++run) {
    recorded.Set(run);
    recording.Run([&] { recorded.Ask(); });
    Work direct(run);
    direct.Ask();
    EXPECT_EQ(recorded.Results(), direct.Results()) << "run " << run;
    // Other calls, which need more memory for intermediate results.
    const Placed<float> many(RandomValues(40000, run));
    const Placed<float> sum(1);
    ReduceSum(many, {40000}, {0}, sum);
  }
}

}  // namespace
}  // namespace cleave::runtime
