// What the example programs for CPUs and for GPUs share: a two-layer network on digits, data parallel over any number
// of ranks, of the kind that codegen writes.
//
// Environment: RANKS, the mesh's size; SAMPLES, how many train; HIDDEN, the width; WEIGHT, a file with the first values
// of logits.weight; FAULT, "KIND:RANK": what goes wrong, and on which rank.
#ifndef CLEAVE_RUNTIME_TRAIN_EXAMPLE_PROGRAM_H_
#define CLEAVE_RUNTIME_TRAIN_EXAMPLE_PROGRAM_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/data/digits.h"
#include "runtime/device/device.h"
#include "runtime/mesh/mesh.h"
#include "runtime/npy/npy.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

constexpr int64_t kBatch = 100;  // Uneven on 3, 6, 7 and 8 ranks.
constexpr int64_t kPixels = 784;
constexpr int64_t kClasses = 10;

inline int64_t Number(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// The kind of fault that a rank is to have, as its first letter; 0 for none.
inline char FaultOf(int rank) {
  const char* fault = std::getenv("FAULT");
  const char* colon = fault == nullptr ? nullptr : std::strchr(fault, ':');
  return colon != nullptr && std::atoi(colon + 1) == rank ? fault[0] : '\0';
}

// The network's tensors, and the rank's rows of each batch.
class ExampleNetwork : public TrainingProgram {
 public:
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
    return {{"h1.weight", 14, {{hidden_, kPixels}}, w1_},
            {"h1.bias", 15, {{hidden_}}, b1_},
            {"logits.weight", 14, {{kClasses, hidden_}}, w2_},
            {"logits.bias", 15, {{kClasses}}, b2_}};
  }

  int64_t ArenaBytes() const override { return arena_.bytes(); }

 protected:
  // `more`: elements that the program takes besides.
  ExampleNetwork(const Context& context, int64_t more)
      : seed_(context.seed),
        comm_(context.comm),
        watch_(context.watch),
        fault_(FaultOf(context.rank)),
        rows_(Piece(kBatch, MeshSize(context.mesh), context.rank)),
        arena_(4 * (2 * parameter_count_ + kBatch * (kPixels + 2 + 2 * hidden_ + 2 * kClasses) + more)),
        all_(comm_.CreateGroup({0})) {}

  float* Take(int64_t count) { return arena_.At<float>(4 * std::exchange(next_, next_ + count)); }

  const int64_t hidden_ = Number("HIDDEN", 32);
  const int64_t parameter_count_ = hidden_ * kPixels + hidden_ + kClasses * hidden_ + kClasses;
  const uint64_t seed_;
  Comm& comm_;
  Watch& watch_;
  const char fault_;
  const Range rows_;
  const Arena arena_;
  const Group all_;
  int64_t next_ = 0;  // Parameters lie one after another, and so do their gradients.
  float* const w1_ = Take(hidden_ * kPixels);
  float* const b1_ = Take(hidden_);
  float* const w2_ = Take(kClasses * hidden_);
  float* const b2_ = Take(kClasses);
  float* const gw1_ = Take(hidden_ * kPixels);
  float* const gb1_ = Take(hidden_);
  float* const gw2_ = Take(kClasses * hidden_);
  float* const gb2_ = Take(kClasses);
  float* const image_ = Take(kBatch * kPixels);
  float* const mask_ = Take(kBatch);
  float* const h1_ = Take(kBatch * hidden_);
  float* const logits_ = Take(kBatch * kClasses);
  float* const gh1_ = Take(kBatch * hidden_);
  float* const glogits_ = Take(kBatch * kClasses);
  int32_t* const label_ = reinterpret_cast<int32_t*>(Take(kBatch));
};

// Trains the network that `create` makes, and returns the program's exit code.
inline int TrainExample(int argc, char** argv, CreateProgram create) {
  TrainingSettings settings;
  settings.model_name = "Example";
  settings.model_file = "example.model";
  settings.mesh = {{"m0", Number("RANKS", 1)}};
  settings.data = Digits(Number("SAMPLES", 2000), 450);
  settings.epochs = 3;
  settings.log_every = 10;
  settings.learning_rate = [](double) { return 0.05; };
  settings.schedule = "0.05";
  settings.metrics = {"accuracy"};
  if (const char* file = std::getenv("WEIGHT")) settings.parameter_files.push_back(FromNpy("logits.weight", file));
  return Train(argc, argv, settings, create);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_EXAMPLE_PROGRAM_H_
