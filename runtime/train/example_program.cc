// A small program of the kind that codegen writes, by hand: a two-layer network on digits, data parallel over any
// number of ranks. The tests of runtime/train start it under mpirun. Environment: RANKS, the mesh's size; HIDDEN, the
// width; WEIGHT, a file with the first values of logits.weight; FAULT, what goes wrong: "nan:RANK" makes a value of
// h1.relu not finite on that rank at step 3, "kill:RANK" and "stall:RANK" end or stop it there; "before:RANK" ends it
// before it joins, "init:RANK" when all have joined.
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

constexpr int64_t kBatch = 100;  // Uneven on 3, 6, 7 and 8 ranks.
constexpr int64_t kPixels = 784;
constexpr int64_t kClasses = 10;

int64_t Number(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

const int64_t hidden = Number("HIDDEN", 32);

// The kind of fault that this rank is to have, as its first letter; 0 for none.
char FaultRank(int rank) {
  const char* fault = std::getenv("FAULT");
  const char* colon = fault == nullptr ? nullptr : std::strchr(fault, ':');
  return colon != nullptr && std::atoi(colon + 1) == rank ? fault[0] : '\0';
}

class Example final : public TrainingProgram {
 public:
  explicit Example(const Context& context)
      : seed_(context.seed),
        comm_(context.comm),
        watch_(context.watch),
        fault_rank_(FaultRank(context.rank)),
        rows_(Piece(kBatch, MeshSize(context.mesh), context.rank)),
        arena_(kArenaFloats() * 4),
        all_(comm_.CreateGroup({0})) {
    if (fault_rank_ == 'i') raise(SIGKILL);
    float* next = arena_.At<float>(0);
    const auto take = [&](int64_t count) { return std::exchange(next, next + count); };
    parameters_ = next;
    w1_ = take(hidden * kPixels);
    b1_ = take(hidden);
    w2_ = take(kClasses * hidden);
    b2_ = take(kClasses);
    gradients_ = next;
    gw1_ = take(hidden * kPixels);
    gb1_ = take(hidden);
    gw2_ = take(kClasses * hidden);
    gb2_ = take(kClasses);
    image_ = take(kBatch * kPixels);
    mask_ = take(kBatch);
    h1_ = take(kBatch * hidden);
    logits_ = take(kBatch * kClasses);
    gh1_ = take(kBatch * hidden);
    glogits_ = take(kBatch * kClasses);
    label_ = reinterpret_cast<int32_t*>(take(kBatch));
  }

  static int64_t Parameters_() { return hidden * kPixels + hidden + kClasses * hidden + kClasses; }

  void Initialize() override {
    const float bound1 = std::sqrt(6.0f / kPixels);
    const float bound2 = std::sqrt(6.0f / static_cast<float>(hidden));
    FillUniform({seed_, "h1.weight"}, WholeRegion({hidden, kPixels}), -bound1, bound1, w1_);
    FillConstant(WholeRegion({hidden}), 0, b1_);
    FillUniform({seed_, "logits.weight"}, WholeRegion({kClasses, hidden}), -bound2, bound2, w2_);
    FillConstant(WholeRegion({kClasses}), 0, b2_);
  }

  void Forward() override {
    ++forwards_;
    watch_.Start("h1.relu", 7, h1_, rows_.size * hidden);
    MatMul({.m = rows_.size, .n = hidden, .k = kPixels, .transpose_b = true}, image_, w1_, h1_,
           {.bias = b1_, .relu = true});
    Misbehave();
    watch_.Start("logits.matmul", 8, logits_, rows_.size * kClasses);
    MatMul({.m = rows_.size, .n = kClasses, .k = hidden, .transpose_b = true}, h1_, w2_, logits_, {.bias = b2_});
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
    watch_.Start("logits.grad_weight", 8, gw2_, kClasses * hidden);
    MatMul({.m = kClasses, .n = hidden, .k = rows_.size, .transpose_a = true}, glogits_, h1_, gw2_);
    std::fill_n(gb2_, kClasses, 0.0f);
    for (int64_t i = 0; i < rows_.size * kClasses; ++i) gb2_[i % kClasses] += glogits_[i];
    watch_.Start("h1.grad", 7, gh1_, rows_.size * hidden);
    MatMul({.m = rows_.size, .n = hidden, .k = kClasses}, glogits_, w2_, gh1_);
    std::fill_n(gb1_, hidden, 0.0f);
    for (int64_t i = 0; i < rows_.size * hidden; ++i) gb1_[i % hidden] += h1_[i] > 0 ? gh1_[i] : gh1_[i] = 0;
    watch_.Start("h1.grad_weight", 7, gw1_, hidden * kPixels);
    MatMul({.m = hidden, .n = kPixels, .k = rows_.size, .transpose_a = true}, gh1_, image_, gw1_);
    watch_.Start("gradients", 0);
    comm_.AllReduce(gradients_, Parameters_(), Reduction::kSum, all_);
    watch_.Finish();
  }

  void Update(const StepScalars& scalars) override {
    const float rate = static_cast<float>(scalars.learning_rate);
    for (int64_t i = 0; i < Parameters_(); ++i) parameters_[i] -= rate * gradients_[i];
    // A generated program's update may use the memory of what has been asked for by now.
    loss_ = accuracy_ = std::nanf("");
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
    return {{"h1.weight", 14, WholeRegion({hidden, kPixels}), w1_},
            {"h1.bias", 15, WholeRegion({hidden}), b1_},
            {"logits.weight", 14, WholeRegion({kClasses, hidden}), w2_},
            {"logits.bias", 15, WholeRegion({kClasses}), b2_}};
  }

  float Loss() const override { return loss_; }
  float Metric(int) const override { return accuracy_; }
  int64_t ArenaBytes() const override { return arena_.bytes(); }

 private:
  static int64_t kArenaFloats() { return 2 * Parameters_() + kBatch * (kPixels + 2 + 2 * hidden + 2 * kClasses); }

  void Misbehave() {
    if (forwards_ < 3) return;
    if (fault_rank_ == 'n') h1_[5] = std::numeric_limits<float>::quiet_NaN();
    if (fault_rank_ == 'k') raise(SIGKILL);
    if (fault_rank_ == 's') pause();
    if (fault_rank_ == 'c') raise(SIGSEGV);
    if (fault_rank_ == 'w') w1_[3] = std::numeric_limits<float>::infinity();
  }

  const uint64_t seed_;
  Comm& comm_;
  Watch& watch_;
  const char fault_rank_;
  const Range rows_;
  const Arena arena_;
  const Group all_;
  int64_t forwards_ = 0;
  float loss_ = 0;
  float accuracy_ = 0;
  float *parameters_, *w1_, *b1_, *w2_, *b2_, *gradients_, *gw1_, *gb1_, *gw2_, *gb2_;
  float *image_, *mask_, *h1_, *logits_, *gh1_, *glogits_;
  int32_t* label_;
};

}  // namespace

int main(int argc, char** argv) {
  if (FaultRank(RankFromEnvironment().value_or(-1)) == 'b') raise(SIGKILL);
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
