// The flags of a generated program, all optional:
//   --steps K --epochs K --seed S --log-every K --log-ranks 0|all --out DIR --tensorboard DIR --data PATH --quiet
//   --profile [FILE] --threads N
//   --params PATH --partial --eval-every K --patience K --checkpoint-every K --keep K --checkpoints DIR --resume [DIR]
//   --auto-resume
// and for each of TrainingSettings::numbers --set NAME=X, or --NAME X where the name has no dot, such as --lr X.
#ifndef CLEAVE_RUNTIME_TRAIN_OPTIONS_H_
#define CLEAVE_RUNTIME_TRAIN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/train/generation.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

struct Options {
  std::optional<int64_t> steps;
  std::optional<int64_t> epochs;
  std::optional<uint64_t> seed;
  std::optional<int64_t> log_every;
  // Whether every rank prints step lines, and not rank 0 alone; absent: if each has a log of its own, and they are few.
  std::optional<bool> log_all_ranks;
  std::string out = ".";                    // Folder of metrics.jsonl and run.json.
  std::string tensorboard;                  // Folder of an event file; empty: none.
  std::optional<std::string> data;          // Replaces the path of the data.
  std::optional<std::string> params;        // A safetensors file or a checkpoint, with which parameters begin.
  bool partial = false;                     // `params` may lack parameters, and have other tensors.
  std::optional<int64_t> evaluate_every;    // 0: after each epoch.
  std::optional<int64_t> patience;          // Evaluations; 0: training does not stop.
  std::optional<int64_t> checkpoint_every;  // 0: none.
  std::optional<int64_t> keep;
  std::optional<std::string> checkpoints;  // Their folder; nullopt: `checkpoints` in `out`.
  bool auto_resume = false;                // As `resume` with the folder of this run, if a checkpoint is there.
  std::optional<std::string> resume;       // A checkpoint, or a folder of them; empty: the folder of this run.
  std::optional<std::string> profile;      // The file of its trace; empty: a table alone.
  std::optional<int64_t> threads;          // Of each rank.
  std::vector<Flag> others;                // Of a program that generates: its own flags.
  std::vector<std::pair<std::string, double>> numbers;  // By TrainingSettings::numbers, in the order of the flags.
  bool quiet = false;                                   // Prints errors only, and no step lines.
  bool help = false;
};

// A program that continues texts has flags of its own (runtime/generate). An Error has exit code 2, and its message
// ends with the usage.
Result<Options> ParseOptions(int argc, const char* const* argv, const TrainingSettings& settings);
// The flags with their defaults.
std::string Usage(const std::string& program, const TrainingSettings& settings);

// Gives the numbers the values of their flags, and says so of `lr` in `settings.schedule`. An Error where a demand of
// the model does not hold of them, or the learning rate would not be 0 or more. No rank has begun.
std::optional<Error> SetNumbers(const Options& options, TrainingSettings& settings);

// All flags that decide what is computed as one text: ranks that agree have the same one.
std::string FlagsText(const Options& options);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_OPTIONS_H_
