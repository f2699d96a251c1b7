// The program of example_program.cc for GPUs, as codegen would write it but for its kernels, which are as plain as
// possible: the same network, data and initial values, so the same losses. Environment: as there, of FAULT "nan:RANK"
// and "weight:RANK".
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/data/digits.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/step_numbers.h"
#include "runtime/device/device.h"
#include "runtime/device/memory.h"
#include "runtime/npy/npy.h"
#include "runtime/random/random.h"
#include "runtime/train/train.h"

namespace {

using namespace cleave::runtime;  // NOLINT: as in generated programs.

constexpr int64_t kBatch = 100;  // Uneven on 3, 6, 7 and 8 ranks.
constexpr int64_t kPixels = 784;
constexpr int64_t kClasses = 10;
constexpr int64_t kHidden = 32;
constexpr int64_t kParameters = kHidden * kPixels + kHidden + kClasses * kHidden + kClasses;

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

// Of each row: its part of the loss, and the gradient by its logits.
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

class Example final : public TrainingProgram {
 public:
  explicit Example(const Context& context)
      : seed_(context.seed),
        comm_(context.comm),
        watch_(context.watch),
        fault_(FaultOf(context.rank)),
        rows_(Piece(kBatch, MeshSize(context.mesh), context.rank)),
        arena_(4 * (2 * kParameters + kBatch * (kPixels + 3 + 2 * kHidden + 2 * kClasses) + 2)),
        all_(comm_.CreateGroup({0})) {}

  void Initialize() override {
    const float bound1 = std::sqrt(6.0f / kPixels);
    const float bound2 = std::sqrt(6.0f / static_cast<float>(kHidden));
    std::vector<float> values(kParameters);
    FillUniform({seed_, "h1.weight"}, WholeRegion({kHidden, kPixels}), -bound1, bound1, values.data());
    FillUniform({seed_, "logits.weight"}, WholeRegion({kClasses, kHidden}), -bound2, bound2,
                values.data() + (w2_ - w1_));
    CopyToDevice(values.data(), w1_, 4 * kParameters);
  }

  void Prepare(const StepScalars& scalars) override {
    numbers_.Set(static_cast<uint64_t>(scalars.step), {static_cast<float>(scalars.learning_rate)});
  }

  void Forward() override {
    watch_.Start("h1.relu", 7, h1_, rows_.size * kHidden);
    MultiplyOnDevice({rows_.size, kHidden, kPixels, kPixels, 1, 1, kPixels}, image_, w1_, b1_, true, h1_);
    if (fault_ == 'n') Launch(Spoil, {1, 32}, numbers_.step(), std::numeric_limits<float>::quiet_NaN(), h1_ + 5);
    if (fault_ == 'w') Launch(Spoil, {1, 32}, numbers_.step(), std::numeric_limits<float>::infinity(), w1_ + 3);
    watch_.Start("logits.matmul", 8, logits_, rows_.size * kClasses);
    MultiplyOnDevice({rows_.size, kClasses, kHidden, kHidden, 1, 1, kHidden}, h1_, w2_, b2_, false, logits_);
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

  // What it begins to communicate runs beside the rest, and is finished in Update.
  void Backward() override {
    watch_.Start("logits.grad_weight", 8, gw2_, kClasses * kHidden);
    MultiplyOnDevice({kClasses, kHidden, rows_.size, 1, kClasses, kHidden, 1}, glogits_, h1_, nullptr, false, gw2_);
    Launch(SumColumns, {1, 32}, rows_.size, kClasses, glogits_, gb2_);
    logits_pending_ =
        comm_.Overlap([&] { comm_.AllReduce(gw2_, kClasses * kHidden + kClasses, Reduction::kSum, all_); });
    watch_.Start("h1.grad", 7, gh1_, rows_.size * kHidden);
    MultiplyOnDevice({rows_.size, kHidden, kClasses, kClasses, 1, kHidden, 1}, glogits_, w2_, nullptr, false, gh1_);
    Launch(ReluGradient, ForElements(rows_.size * kHidden), rows_.size * kHidden, h1_, gh1_);
    Launch(SumColumns, {1, 32}, rows_.size, kHidden, gh1_, gb1_);
    watch_.Start("h1.grad_weight", 7, gw1_, kHidden * kPixels);
    MultiplyOnDevice({kHidden, kPixels, rows_.size, 1, kHidden, kPixels, 1}, gh1_, image_, nullptr, false, gw1_);
    h1_pending_ = comm_.Overlap([&] { comm_.AllReduce(gw1_, kHidden * kPixels + kHidden, Reduction::kSum, all_); });
    watch_.Finish();
  }

  void Update(const StepScalars&) override {
    comm_.Finish(logits_pending_);
    comm_.Finish(h1_pending_);
    Launch(Descend, ForElements(kParameters), kParameters, numbers_.number(0), gw1_, w1_);
  }

  std::vector<ModelInput> Inputs() override {
    const auto piece = [&](std::vector<int64_t> shape) {
      Region region = WholeRegion(std::move(shape));
      region.begin[0] = rows_.begin;
      region.size[0] = rows_.size;
      return region;
    };
    return {{"image", piece({kBatch, 1, 28, 28}), image_},
            {"label", piece({kBatch}), label_, kClasses},
            {kSampleMask, piece({kBatch}), mask_}};
  }

  std::vector<ParameterView> Parameters() override {
    return {{"h1.weight", 14, WholeRegion({kHidden, kPixels}), w1_},
            {"h1.bias", 15, WholeRegion({kHidden}), b1_},
            {"logits.weight", 14, WholeRegion({kClasses, kHidden}), w2_},
            {"logits.bias", 15, WholeRegion({kClasses}), b2_}};
  }

  float Loss() const override { return *OnHost(loss_, 1); }
  float Metric(int) const override { return *OnHost(accuracy_, 1); }
  int64_t ArenaBytes() const override { return arena_.bytes(); }

 private:
  // The kind of fault that this rank is to have, as its first letter; 0 for none.
  static char FaultOf(int rank) {
    const char* fault = std::getenv("FAULT");
    const char* colon = fault == nullptr ? nullptr : std::strchr(fault, ':');
    return colon != nullptr && std::atoi(colon + 1) == rank ? fault[0] : '\0';
  }

  static void MultiplyOnDevice(const Product& product, const float* a, const float* b, const float* bias, bool relu,
                               float* c) {
    Launch(Multiply, ForElements(product.m * product.n), product, a, b, bias, relu, c);
  }

  float* Take(int64_t count) { return arena_.At<float>(4 * std::exchange(next_, next_ + count)); }

  const uint64_t seed_;
  Comm& comm_;
  Watch& watch_;
  const char fault_;
  const Range rows_;
  const Arena arena_;
  const Group all_;
  StepNumbers numbers_{1};
  Pending logits_pending_, h1_pending_;
  int64_t next_ = 0;
  float* const w1_ = Take(kHidden * kPixels);
  float* const b1_ = Take(kHidden);
  float* const w2_ = Take(kClasses * kHidden);
  float* const b2_ = Take(kClasses);
  float* const gw1_ = Take(kHidden * kPixels);
  float* const gb1_ = Take(kHidden);
  float* const gw2_ = Take(kClasses * kHidden);
  float* const gb2_ = Take(kClasses);
  float* const image_ = Take(kBatch * kPixels);
  float* const mask_ = Take(kBatch);
  float* const h1_ = Take(kBatch * kHidden);
  float* const logits_ = Take(kBatch * kClasses);
  float* const gh1_ = Take(kBatch * kHidden);
  float* const glogits_ = Take(kBatch * kClasses);
  float* const of_rows_ = Take(kBatch);
  int32_t* const label_ = reinterpret_cast<int32_t*>(Take(kBatch));
  float* const loss_ = Take(1);
  float* const accuracy_ = Take(1);
};

int64_t Number(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

}  // namespace

int main(int argc, char** argv) {
  TrainingSettings settings;
  settings.model_name = "Example";
  settings.model_file = "example.model";
  settings.mesh = {{"m0", Number("RANKS", 1)}};
  settings.data = Digits(Number("SAMPLES", 2000), 450);
  settings.epochs = 3;
  settings.log_every = 10;
  settings.schedule.rate = 0.05;
  settings.metrics = {"accuracy"};
  if (const char* file = std::getenv("WEIGHT")) settings.parameter_files.push_back(FromNpy("logits.weight", file));
  return Train(argc, argv, settings, [](const Context& context) -> std::unique_ptr<TrainingProgram> {
    return std::make_unique<Example>(context);
  });
}
