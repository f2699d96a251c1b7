// What the `train` block says: data, optimizer, how long. Part of the input of Differentiate (optimizer) and of code
// generation (data, epochs).
#ifndef CLEAVE_IR_TRAINING_TRAINING_H_
#define CLEAVE_IR_TRAINING_TRAINING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace cleave {

// Learning rate as a function of the step t, counted from 1.
//   constant       rate
//   linear_warmup  rate * min(1, t / warmup_steps)
//   cosine         after the warm-up, final_rate + (rate - final_rate) * (1 + cos(pi * (t - warmup) / (total -
//   warmup))) / 2 up to
//                  total_steps, then final_rate
struct Schedule {
  enum class Form { kConstant, kLinearWarmup, kCosine };
  Form form = Form::kConstant;
  double rate = 0.01;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;  // cosine only
  double final_rate = 0;    // cosine only

  bool operator==(const Schedule&) const = default;
};

// "constant", "linear_warmup", "cosine".
absl::string_view ScheduleFormName(Schedule::Form form);

// The learning rate at step `step`. REQUIRES: step >= 1.
double LearningRate(const Schedule& schedule, int64_t step);

// p: parameter, g: gradient, r: learning rate.
//   sgd       p -= r * (g + weight_decay * p)
//   momentum  v = momentum * v + (g + weight_decay * p); p -= r * v      (nesterov: p -= r * (g + weight_decay * p +
//   momentum * v)) adam      g' = g + weight_decay * p; m = b1 m + (1-b1) g'; v = b2 v + (1-b2) g'^2; p -= r * m^ /
//   (sqrt(v^) + epsilon) adamw     as adam with g' = g, and p -= r * weight_decay * p         (Loshchilov and Hutter,
//   2019)
struct Optimizer {
  enum class Kind { kSgd, kMomentum, kAdam, kAdamW };
  Kind kind = Kind::kSgd;
  Schedule learning_rate;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;

  bool operator==(const Optimizer&) const = default;
};

// Where samples come from: "mnist" | "digits" | "synthetic" | "tokens" | "npy", its path (relative to the model file;
// empty without one) and its other arguments by name.
struct DataSource {
  std::string kind = "synthetic";
  std::string path;
  std::map<std::string, double> numbers;                        // "train" = 20000, "test" = 4000, …
  std::vector<std::pair<std::string, std::string>> files = {};  // npy: inputs and the paths of their files, as written.

  bool operator==(const DataSource&) const = default;
};

// How a logged step reads on standard output: "epoch 0 step 20/400 | loss 0.123456 | …", or as MindSpore's monitor of
// the loss writes it, "epoch: 1 step: 20, loss is 0.123456".
enum class LogFormat { kCleave, kMindSpore };

// In what products and convolutions multiply. kF32: in f32. kTf32: f32 tensors, whose factors the hardware may round to
// tf32, 10 bits of fraction. kBf16: tensors of bf16 wherever the policy of ir/precision says so, with f32 parameters.
enum class Precision { kF32, kTf32, kBf16 };

absl::string_view PrecisionName(Precision precision);  // "f32"
std::optional<Precision> ParsePrecision(absl::string_view name);

struct Training {
  DataSource data;
  std::string folder = {};  // From which the paths of parameters' files start.
  Optimizer optimizer;
  Precision precision = Precision::kF32;
  int64_t epochs = 1;
  int64_t steps = 0;        // Stop after so many steps; 0: no limit but epochs.
  int64_t log_every = 100;  // Steps.
  LogFormat log = LogFormat::kCleave;
  int64_t seed = 1;
  bool present = false;  // The model has a `train` block.

  bool operator==(const Training&) const = default;
};

}  // namespace cleave

#endif  // CLEAVE_IR_TRAINING_TRAINING_H_
