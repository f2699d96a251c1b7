// The example program for CPUs, by hand; the tests of runtime/train start it under mpirun. FAULT: "nan:RANK" makes a
// value of h1.relu not finite on that rank at step 3, "weight:RANK" one of h1.weight; "kill:RANK", "crash:RANK" and
// "stall:RANK" end it there or let it wait for ever, "freeze:RANK" stops its process; "before:RANK" ends it before it
// joins, "init:RANK" when all have joined.
#include "runtime/train/example_program.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "runtime/runtime.h"

namespace {

using namespace cleave::runtime;  // NOLINT: as in generated programs.

class Example final : public ExampleNetwork {
 public:
  explicit Example(const Context& context) : ExampleNetwork(context, 0) {
    if (fault_ == 'i') raise(SIGKILL);
  }

  void Initialize() override {
    const float bound1 = std::sqrt(6.0f / kPixels);
    const float bound2 = std::sqrt(6.0f / static_cast<float>(hidden_));
    FillUniform({seed_, "h1.weight"}, WholeRegion({hidden_, kPixels}), -bound1, bound1, w1_);
    FillConstant(WholeRegion({hidden_}), 0, b1_);
    FillUniform({seed_, "logits.weight"}, WholeRegion({kClasses, hidden_}), -bound2, bound2, w2_);
    FillConstant(WholeRegion({kClasses}), 0, b2_);
  }

  void Forward() override {
    ++forwards_;
    watch_.Start("h1.relu", 7, h1_, rows_.size * hidden_);
    MatMul({.m = rows_.size, .n = hidden_, .k = kPixels, .transpose_b = true}, image_, w1_, h1_, b1_);
    for (int64_t i = 0; i < rows_.size * hidden_; ++i) h1_[i] = h1_[i] < 0 ? 0 : h1_[i];
    Misbehave();
    watch_.Start("logits.matmul", 8, logits_, rows_.size * kClasses);
    MatMul({.m = rows_.size, .n = kClasses, .k = hidden_, .transpose_b = true}, h1_, w2_, logits_, b2_);
    watch_.Start("loss", 10, &loss_, 1);
    double loss = 0;
    for (int64_t row = 0; row < rows_.size; ++row) {
      const float* z = logits_ + row * kClasses;
      float* g = glogits_ + row * kClasses;
      const float most = *std::max_element(z, z + kClasses);
      float sum = 0;
      for (int64_t j = 0; j < kClasses; ++j) sum += g[j] = std::exp(z[j] - most);
      for (int64_t j = 0; j < kClasses; ++j) g[j] = (g[j] / sum - (j == label_[row] ? 1.0f : 0.0f)) / kBatch;
      loss -= z[label_[row]] - most - std::log(sum);
    }
    loss_ = static_cast<float>(loss / kBatch);
    comm_.AllReduce(&loss_, 1, Reduction::kSum, all_);
    watch_.Finish();
  }

  void Metrics() override {
    watch_.Start("accuracy", 11, &accuracy_, 1);
    accuracy_ = 0;
    for (int64_t row = 0; row < rows_.size; ++row) {
      const float* z = logits_ + row * kClasses;
      if (std::max_element(z, z + kClasses) - z == label_[row]) accuracy_ += mask_[row] / kBatch;
    }
    comm_.AllReduce(&accuracy_, 1, Reduction::kSum, all_);
    watch_.Finish();
  }

  void Backward() override {
    watch_.Start("logits.grad_weight", 8, gw2_, kClasses * hidden_);
    MatMul({.m = kClasses, .n = hidden_, .k = rows_.size, .transpose_a = true}, glogits_, h1_, gw2_);
    std::fill_n(gb2_, kClasses, 0.0f);
    for (int64_t i = 0; i < rows_.size * kClasses; ++i) gb2_[i % kClasses] += glogits_[i];
    watch_.Start("h1.grad", 7, gh1_, rows_.size * hidden_);
    MatMul({.m = rows_.size, .n = hidden_, .k = kClasses}, glogits_, w2_, gh1_);
    std::fill_n(gb1_, hidden_, 0.0f);
    for (int64_t i = 0; i < rows_.size * hidden_; ++i) gb1_[i % hidden_] += h1_[i] > 0 ? gh1_[i] : gh1_[i] = 0;
    watch_.Start("h1.grad_weight", 7, gw1_, hidden_ * kPixels);
    MatMul({.m = hidden_, .n = kPixels, .k = rows_.size, .transpose_a = true}, gh1_, image_, gw1_);
    watch_.Start("gradients", 0);
    comm_.AllReduce(gw1_, parameter_count_, Reduction::kSum, all_);
    watch_.Finish();
  }

  void Update(const StepScalars& scalars) override {
    const float rate = static_cast<float>(scalars.learning_rate);
    for (int64_t i = 0; i < parameter_count_; ++i) w1_[i] -= rate * gw1_[i];
    // In a generated program, Update may use the memory of values that have been asked for by now.
    loss_ = accuracy_ = std::nanf("");
  }

  float Loss() const override { return loss_; }
  float Metric(int) const override { return accuracy_; }

 private:
  void Misbehave() {
    if (forwards_ < 3) return;
    if (fault_ == 'n') h1_[5] = std::numeric_limits<float>::quiet_NaN();
    if (fault_ == 'k') raise(SIGKILL);
    if (fault_ == 's') pause();
    if (fault_ == 'f') raise(SIGSTOP);
    if (fault_ == 'c') raise(SIGSEGV);
    if (fault_ == 'w') w1_[3] = std::numeric_limits<float>::infinity();
  }

  int64_t forwards_ = 0;
  float loss_ = 0;
  float accuracy_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (FaultOf(RankFromEnvironment().value_or(-1)) == 'b') raise(SIGKILL);
  return TrainExample(argc, argv, [](const Context& context) -> std::unique_ptr<TrainingProgram> {
    return std::make_unique<Example>(context);
  });
}
