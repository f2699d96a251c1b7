// The example program for GPUs, as codegen would write it, with kernels of its own that are as plain as possible: the
// same network, data and initial values as on CPUs, so the same losses. FAULT: "nan:RANK" and "weight:RANK".
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/step_numbers.h"
#include "runtime/device/memory.h"
#include "runtime/random/random.h"
#include "runtime/train/example_program.h"

namespace {

using namespace cleave::runtime;  // NOLINT: as in generated programs.

// c[i, j] = sum over x of a[i, x] b[x, j], and then bias[j] and Relu; a and b are read by strides.
struct Product {
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column;
};
__global__ void Multiply(Product p, const float* a, const float* b, const float* bias, bool relu, float* c) {
  for (int64_t i = FirstElement(); i < p.m * p.n; i += ElementStride()) {
    float sum = 0;
    for (int64_t x = 0; x < p.k; ++x) {
      sum += a[i / p.n * p.a_row + x * p.a_column] * b[x * p.b_row + i % p.n * p.b_column];
    }
    if (bias != nullptr) sum += bias[i % p.n];
    c[i] = relu ? fmaxf(sum, 0.0f) : sum;
  }
}

// For each row its part of the loss, and the gradient by its logits.
__global__ void CrossEntropyOfRows(int64_t rows, const float* logits, const int32_t* label, float* losses,
                                   float* gradient) {
  for (int64_t row = FirstElement(); row < rows; row += ElementStride()) {
    const float* z = logits + row * kClasses;
    float* g = gradient + row * kClasses;
    float most = z[0];
    for (int64_t j = 1; j < kClasses; ++j) most = fmaxf(most, z[j]);
    float sum = 0;
    for (int64_t j = 0; j < kClasses; ++j) sum += g[j] = expf(z[j] - most);
    for (int64_t j = 0; j < kClasses; ++j) g[j] = (g[j] / sum - (j == label[row] ? 1.0f : 0.0f)) / kBatch;
    losses[row] = -(z[label[row]] - most - logf(sum)) / kBatch;
  }
}

__global__ void HitsOfRows(int64_t rows, const float* logits, const int32_t* label, const float* mask, float* hits) {
  for (int64_t row = FirstElement(); row < rows; row += ElementStride()) {
    const float* z = logits + row * kClasses;
    int64_t best = 0;
    for (int64_t j = 1; j < kClasses; ++j) best = z[j] > z[best] ? j : best;
    hits[row] = best == label[row] ? mask[row] / kBatch : 0.0f;
  }
}

__global__ void SumColumns(int64_t rows, int64_t columns, const float* x, float* sums) {
  for (int64_t j = FirstElement(); j < columns; j += ElementStride()) {
    double sum = 0;
    for (int64_t row = 0; row < rows; ++row) sum += x[row * columns + j];
    sums[j] = static_cast<float>(sum);
  }
}

__global__ void ReluGradient(int64_t count, const float* value, float* gradient) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    if (!(value[i] > 0)) gradient[i] = 0;
  }
}

__global__ void Descend(int64_t count, const float* rate, const float* gradients, float* parameters) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) parameters[i] -= *rate * gradients[i];
}

__global__ void Spoil(const uint64_t* step, float value, float* place) {
  if (threadIdx.x == 0 && *step >= 3) *place = value;
}

class Example final : public ExampleNetwork {
 public:
  explicit Example(const Context& context) : ExampleNetwork(context, kBatch + 2) {}

  void Initialize() override {
    const float bound1 = std::sqrt(6.0f / kPixels);
    const float bound2 = std::sqrt(6.0f / static_cast<float>(hidden_));
    std::vector<float> values(parameter_count_);
    FillUniform({seed_, "h1.weight"}, WholeRegion({hidden_, kPixels}), -bound1, bound1, values.data());
    FillUniform({seed_, "logits.weight"}, WholeRegion({kClasses, hidden_}), -bound2, bound2,
                values.data() + (w2_ - w1_));
    CopyToDevice(values.data(), w1_, 4 * parameter_count_);
  }

  void Prepare(const StepScalars& scalars) override {
    numbers_.Set(static_cast<uint64_t>(scalars.step), {static_cast<float>(scalars.learning_rate)});
  }

  void Forward() override {
    watch_.Start("h1.relu", 7, h1_, rows_.size * hidden_);
    MultiplyOnDevice({rows_.size, hidden_, kPixels, kPixels, 1, 1, kPixels}, image_, w1_, b1_, true, h1_);
    if (fault_ == 'n') Launch(Spoil, {1, 32}, numbers_.step(), std::numeric_limits<float>::quiet_NaN(), h1_ + 5);
    if (fault_ == 'w') Launch(Spoil, {1, 32}, numbers_.step(), std::numeric_limits<float>::infinity(), w1_ + 3);
    watch_.Start("logits.matmul", 8, logits_, rows_.size * kClasses);
    MultiplyOnDevice({rows_.size, kClasses, hidden_, hidden_, 1, 1, hidden_}, h1_, w2_, b2_, false, logits_);
    watch_.Start("loss", 10, loss_, 1);
    Launch(CrossEntropyOfRows, ForElements(rows_.size), rows_.size, logits_, label_, of_rows_, glogits_);
    Launch(SumColumns, {1, 32}, rows_.size, int64_t{1}, of_rows_, loss_);
    comm_.AllReduce(loss_, 1, Reduction::kSum, all_);
    watch_.Finish();
  }

  void Metrics() override {
    watch_.Start("accuracy", 11, accuracy_, 1);
    Launch(HitsOfRows, ForElements(rows_.size), rows_.size, logits_, label_, mask_, of_rows_);
    Launch(SumColumns, {1, 32}, rows_.size, int64_t{1}, of_rows_, accuracy_);
    comm_.AllReduce(accuracy_, 1, Reduction::kSum, all_);
    watch_.Finish();
  }

  // The communication that it begins runs beside the other work, and is finished in Update.
  void Backward() override {
    watch_.Start("logits.grad_weight", 8, gw2_, kClasses * hidden_);
    MultiplyOnDevice({kClasses, hidden_, rows_.size, 1, kClasses, hidden_, 1}, glogits_, h1_, nullptr, false, gw2_);
    Launch(SumColumns, {1, 32}, rows_.size, kClasses, glogits_, gb2_);
    logits_pending_ =
        comm_.Overlap([&] { comm_.AllReduce(gw2_, kClasses * hidden_ + kClasses, Reduction::kSum, all_); });
    watch_.Start("h1.grad", 7, gh1_, rows_.size * hidden_);
    MultiplyOnDevice({rows_.size, hidden_, kClasses, kClasses, 1, hidden_, 1}, glogits_, w2_, nullptr, false, gh1_);
    Launch(ReluGradient, ForElements(rows_.size * hidden_), rows_.size * hidden_, h1_, gh1_);
    Launch(SumColumns, {1, 32}, rows_.size, hidden_, gh1_, gb1_);
    watch_.Start("h1.grad_weight", 7, gw1_, hidden_ * kPixels);
    MultiplyOnDevice({hidden_, kPixels, rows_.size, 1, hidden_, kPixels, 1}, gh1_, image_, nullptr, false, gw1_);
    h1_pending_ = comm_.Overlap([&] { comm_.AllReduce(gw1_, hidden_ * kPixels + hidden_, Reduction::kSum, all_); });
    watch_.Finish();
  }

  void Update(const StepScalars&) override {
    comm_.Finish(logits_pending_);
    comm_.Finish(h1_pending_);
    Launch(Descend, ForElements(parameter_count_), parameter_count_, numbers_.number(0), gw1_, w1_);
  }

  float Loss() const override { return *OnHost(loss_, 1); }
  float Metric(int) const override { return *OnHost(accuracy_, 1); }

 private:
  static void MultiplyOnDevice(const Product& product, const float* a, const float* b, const float* bias, bool relu,
                               float* c) {
    Launch(Multiply, ForElements(product.m * product.n), product, a, b, bias, relu, c);
  }

  StepNumbers numbers_{1};
  Pending logits_pending_, h1_pending_;
  float* const of_rows_ = Take(kBatch);
  float* const loss_ = Take(1);
  float* const accuracy_ = Take(1);
};

}  // namespace

int main(int argc, char** argv) {
  return TrainExample(argc, argv, [](const Context& context) -> std::unique_ptr<TrainingProgram> {
    return std::make_unique<Example>(context);
  });
}
