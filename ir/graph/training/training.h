// The contents of the `train` block: data, number of steps, what is written. What the optimizer does is a graph of its
// own (ir/transforms/differentiate); here is what it is called.
#ifndef CLEAVE_IR_GRAPH_TRAINING_TRAINING_H_
#define CLEAVE_IR_GRAPH_TRAINING_TRAINING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// The source of the samples: "mnist" | "digits" | "synthetic" | "tokens" | "npy" | "csv" | "safetensors" | "images" |
// "custom" | "mix", its path (relative to the model file; empty if it has none) and its other arguments by name.
struct DataSource {
  std::string kind = "synthetic";
  std::string path;
  std::map<std::string, double> numbers;  // "train" = 20000, "test" = 4000, …
  // Paths as written. npy: of the file of each input. csv, safetensors, images, and tokens of files of numbers: of
  // those for `train` and `test`.
  std::vector<std::pair<std::string, std::string>> files = {};
  std::vector<std::pair<std::string, std::vector<std::string>>> columns = {};  // csv: of which each input is made;
                                                                               // safetensors: its tensor.
  std::map<std::string, std::vector<double>> lists = {};  // images: "mean" and "std"; mix: "weights" of its parts.
  std::vector<DataSource> parts = {};                     // mix.

  bool operator==(const DataSource&) const = default;
};

// The form of a logged step on standard output: "epoch 0 step 20/400 | loss 0.123456 | …", or that of MindSpore's loss
// monitor, "epoch: 1 step: 20, loss is 0.123456".
enum class LogFormat { kCleave, kMindSpore };

// The precision of products and convolutions. kF32: f32. kTf32: f32 tensors, whose factors the hardware may round to
// tf32, 10 bits of fraction. kBf16, kF16: tensors of this type wherever the policy of ir/transforms/precision says so,
// with f32 parameters. kFp8: kBf16, with products of factors of 8 bits.
enum class Precision { kF32, kTf32, kBf16, kF16, kFp8 };

// What a program does. kTrain: trains. kEvaluate: computes the metrics of the test part. kPredict: writes values of all
// samples into files. kGenerate: continues texts with a language model. All but the first read their parameters, and
// have a forward pass only.
enum class Mode { kTrain, kEvaluate, kPredict, kGenerate };

absl::string_view ModeName(Mode mode);  // "train"
std::optional<Mode> ParseMode(absl::string_view name);

absl::string_view PrecisionName(Precision precision);  // "f32"
std::optional<Precision> ParsePrecision(absl::string_view name);

// Which evaluation while training goes on is the best one: by the loss, or by a metric.
struct Criterion {
  std::string measure = {};  // "loss" or the name of a metric; empty: none is looked for.
  bool is_least = false;     // Else the greatest value is the best.

  bool operator==(const Criterion&) const = default;
};

// What must hold of the numbers that flags of the program change, and the message where it does not; there `{lr}`
// stands for the number of that name.
struct NumberDemand {
  std::string condition;  // A ScalarText (ir/graph/scalar) without `step`.
  std::string otherwise;

  bool operator==(const NumberDemand&) const = default;
};

struct Training {
  DataSource data;
  std::string folder = {};  // Paths of parameters' files are relative to it.
  std::string params = {};  // A safetensors file or a checkpoint with which parameters begin, as `data`; empty: none.
  bool params_are_partial = false;  // Parameters that are not there, and tensors that are no parameters, are let pass.
  std::string optimizer = "sgd";    // The function of the language that updates a parameter.
  std::map<std::string, std::string> other_optimizers = {};  // By parameter, where another function updates it.
  std::string adapters = {};  // The form of the weights' adapters, an AdapterText; empty: there are none.
  // The type in which matrices that nothing trains are stored; nullopt: as the precision says.
  std::optional<DType> frozen = {};
  std::string learning_rate = "0.01";  // By the step, counted from 1, as a ScalarText (ir/graph/scalar) in `step`.
  std::string schedule = "0.01";       // The same as the model says it: "cosine(1e-3, steps = 1000)".
  std::vector<NumberDemand> demands = {};
  Precision precision = Precision::kF32;
  std::vector<std::string> kept_weights = {};  // kFp8: patterns of weights whose products stay in bf16.
  int64_t epochs = 1;
  int64_t steps = 0;        // Stop after this many steps; 0: only epochs limit them.
  int64_t log_every = 100;  // Steps.
  LogFormat log = LogFormat::kCleave;
  int64_t checkpoint_every = 0;  // Steps; 0: none are written, unless a flag of the program asks for them.
  int64_t keep_checkpoints = 3;  // How many stay on the disk.
  double validation = 0;         // The share of the training samples that is set aside for evaluation.
  int64_t evaluate_every = 0;    // Steps; 0: after each epoch.
  Criterion best = {};           // Whose checkpoint stays on the disk besides.
  int64_t patience = 0;          // Evaluations without a better one, after which training stops; 0: it does not.
  int64_t seed = 1;
  bool shuffle = true;   // Whether each epoch reads the samples in an order of its own.
  bool present = false;  // The model has a `train` block.
  Mode mode = Mode::kTrain;
  // Of a program that generates: its tokenizer.json, as `data`, or empty for that of the data, and the places of a
  // sequence.
  std::string tokenizer = {};
  int64_t places = 0;

  bool operator==(const Training&) const = default;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_TRAINING_TRAINING_H_
