// The training loop of a generated program.
//
//   class MnistMlp final : public TrainingProgram { … };
//
//   int main(int argc, char** argv) {
//     TrainingSettings settings;
//     settings.model_file = "mnist_mlp.model";
//     settings.mesh = {{"m0", 2}, {"m1", 2}};
//     settings.data = Digits();
//     …
//     return Train(argc, argv, settings, [](const Context& context) -> std::unique_ptr<TrainingProgram> {
//       return std::make_unique<MnistMlp>(context);
//     });
//   }
//
// Order of calls: Initialize and, when parameters have their values, KeepCopies once. Per training step: inputs are
// filled, Prepare, RunBatch (Forward, at logged steps Metrics, Backward), Update. For an evaluation Prepare; per batch:
// inputs are filled, RunBatch (Forward, Metrics).
// When a loss is not finite: RunBatch again on the same inputs, before Update, with the Watch in checking mode; so it
// may not change parameters or optimizer state. Context::step is the same in both.
//
// On a GPU three phases are recorded at their second call and replayed from then on (runtime/device/recorded.h):
// Forward to Backward, Update, and Forward and Metrics of a test. So numbers that differ between steps must be in
// memory of the device, where Prepare puts them. Each rank is a thread; nothing here is shared between them.
//
// What a program looks at is shown between phases, outside of the time and the traffic of a step.
//
// Writes what docs/formats/run.md says: step lines on rank 0's standard output, or every rank's, metrics.jsonl and
// run.json in the run's folder.
#ifndef CLEAVE_RUNTIME_TRAIN_TRAIN_H_
#define CLEAVE_RUNTIME_TRAIN_TRAIN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/matrix_part.h"
#include "runtime/comm/comm.h"
#include "runtime/data/data.h"
#include "runtime/device/reals.h"
#include "runtime/device/streams.h"
#include "runtime/kernels/observer.h"
#include "runtime/mesh/mesh.h"
#include "runtime/npy/parameter_file.h"
#include "runtime/trace/trace.h"
#include "runtime/train/generation.h"

namespace cleave::runtime {

// What a program knows of the rank that it runs on. All of it outlives the program.
struct Context {
  int rank;
  const Mesh& mesh;
  const std::vector<int64_t>& coordinates;  // On the mesh's axes.
  uint64_t seed;
  Comm& comm;
  Watch& watch;
  const uint64_t& step;  // The current training step, counted from 1; 0 in testing, where dropout drops nothing.
  Observer& observer;
};

// Step-dependent numbers of the optimizer.
struct StepScalars {
  int64_t step = 1;  // Counted from 1; 0 in testing.
  double learning_rate = 0;
};

// What the optimizer keeps of a parameter.
struct OptimizerState {
  OptimizerState(const char* name, float* values) : name(name), values(values) {}
  OptimizerState(const char* name, float* values, TensorLayout layout)
      : name(name), values(values), layout(std::move(layout)) {}

  std::string name;                    // "adam_m"
  float* values;                       // The rank's piece.
  std::optional<TensorLayout> layout;  // nullopt: it has the shape of the parameter, and lies as that does.
};

using OptimizerStates = std::vector<OptimizerState>;

// A parameter, and the piece of it that this rank holds.
struct ParameterView {
  ParameterView(std::string name, int line, TensorLayout layout, Reals values, OptimizerStates states = {})
      : name(std::move(name)), line(line), layout(std::move(layout)), values(values), states(std::move(states)) {}

  std::string name;
  int line;
  TensorLayout layout;
  Reals values;  // Of 16 bits where nothing changes it and only products read it.
  OptimizerStates states;
  std::optional<MatrixPart> part = {};  // What it is of a matrix that is stored in 8 bits; set behind Initialize.
  bool is_in_params = false;  // Nothing changes it, and TrainingSettings::params has it, if it has what is expected.
};

class TrainingProgram {
 public:
  virtual ~TrainingProgram() = default;

  // Initial values of parameters and optimizer state.
  virtual void Initialize() = 0;

  // Makes what the program keeps of parameters from step to step, such as copies in 16 bits. Called once, when they
  // have their first values; Update does the same for the new ones.
  virtual void KeepCopies() {}

  // Work that follows belongs to this step.
  virtual void Prepare(const StepScalars&) {}

  // Whether the phases ask for the same work each time. A phase that prints or compares values does not.
  virtual bool IsRecordable() const { return true; }

  // The phases of a batch, of which a program does the last two where they are asked for.
  void RunBatch(bool metrics, bool gradients) {
    with_gradients = gradients;
    RunPhases(metrics, gradients);
    AwaitResults();
  }
  // A program that takes its batch in micro-batches does them for each one.
  virtual void RunPhases(bool metrics, bool gradients) {
    Forward();
    if (metrics) Metrics();
    if (gradients) Backward();
  }
  // Waits for what the phases have begun to send, if the host alone reads it.
  virtual void AwaitResults() {}
  virtual void Forward() = 0;
  virtual void Metrics() = 0;
  virtual void Backward() = 0;
  virtual void Update(const StepScalars& scalars) = 0;

  virtual std::vector<ModelInput> Inputs() = 0;
  virtual std::vector<ParameterView> Parameters() = 0;

  // The loss of the whole batch, the same on all ranks. Asked for after Backward in training, after Metrics in testing.
  virtual float Loss() const = 0;

  // Metric number `index` of TrainingSettings::metrics, the same on all ranks. Asked for after Metrics in testing; in
  // training after Backward, so Backward must not change it. One of totals is that of all batches since Prepare.
  virtual float Metric(int index) const = 0;

  // Table number `index` of TrainingSettings::tables, row by row, as Metric is asked for in testing.
  virtual std::vector<float> Table(int) const { return {}; }

  // Memory of the program's arena.
  virtual int64_t ArenaBytes() const = 0;
  // Memory of the host in which values of a GPU wait.
  virtual int64_t HostBytes() const { return 0; }

 protected:
  // Whether Backward follows Forward, which then computes the gradient of a loss in the call that computes the loss.
  bool with_gradients = false;
  // Collectives that AwaitResults waits for.
  std::vector<Pending> results;
};

// The form of a logged step on standard output (docs/formats/run.md).
enum class LogFormat { kCleave, kMindSpore };

// What a program does: it trains, or with parameters that it reads it computes the metrics of the test part, or writes
// values of all samples into files, or continues texts.
enum class Mode { kTrain, kEvaluate, kPredict, kGenerate };

// What can be best besides metrics.
inline constexpr char kLoss[] = "loss";

// Which evaluation is the best one.
struct Criterion {
  std::string measure = {};  // kLoss or a metric; empty: none is.
  bool is_least = false;     // Else the greatest value is best.
};

// How the numbers of the batches of an evaluation become one: a mean over samples, or the number of the last batch,
// which is computed from sums over all of them (runtime/kernels/totals.h).
enum class Average { kOfSamples, kOfTotals };

struct NamedMetric {
  NamedMetric(const char* name, Average average = Average::kOfSamples) : name(name), average(average) {}  // NOLINT

  std::string name;  // "accuracy"
  Average average;
};

// A metric that has several numbers, which are computed from totals: shown after an evaluation.
struct NamedTable {
  std::string name;            // "confusion_matrix"
  std::vector<int64_t> shape;  // Of one or two dimensions.
};

// A number of the model that a flag changes: `lr` by `--lr X`, `optimizer.beta1` by `--set optimizer.beta1=X`.
struct NamedNumber {
  std::string name;
  double* place;  // All ranks of the process read it; set before they begin.
};

// What must hold of these numbers, and what is wrong where it does not: "`beta1` must be less than 1, not {lr}", where
// `{lr}` stands for the number of that name.
struct NumberDemand {
  bool (*holds)();
  std::string otherwise;
};

// For Table.
inline std::vector<float> CopyOf(const float* values, int64_t count) { return {values, values + count}; }

// What the model file says, known at compile time.
struct TrainingSettings {
  const char* model_name = "";
  const char* model_file = "";
  Mesh mesh;
  std::optional<int> stage_axis;  // The axis of the mesh along which ranks are stages of a pipeline.
  Observer::Join join_looks = nullptr;
  int only_rank = -1;  // For a program with one rank's coordinates folded in.
  DataSpec data;
  std::vector<ParameterFile> parameter_files;  // Read after Initialize.
  std::string adapters;                        // Their form, which checkpoints keep; empty: there are none.
  std::string params;                          // A safetensors file or a checkpoint, read after these; empty: none.
  bool params_are_partial = false;             // It may lack parameters, and have tensors that are none.
  Mode mode = Mode::kTrain;
  int64_t epochs = 1;
  int64_t steps = 0;        // Stop after so many steps; 0: no limit but epochs.
  int64_t log_every = 100;  // Steps; 0: never.
  LogFormat log = LogFormat::kCleave;
  int64_t checkpoint_every = 0;  // Steps; 0: never.
  int64_t keep_checkpoints = 3;
  int64_t evaluate_every = 0;  // Steps; 0: after each epoch.
  Criterion best;              // Its checkpoint is kept besides.
  int64_t patience = 0;        // Evaluations without a better one, after which training stops; 0: it does not.
  uint64_t seed = 1;
  int64_t tokens_per_sample = 0;  // Of texts; 0: samples are none.
  double seconds_at_peak = 0;  // Of a step, if a rank's products took the time of the peak of its chip; 0: not known.
  double (*learning_rate)(double step) = [](double) { return 0.01; };  // At a step, counted from 1.
  std::string schedule;                                                // The same as the model says it.
  std::vector<NamedNumber> numbers;                                    // With the values that the model gives them.
  std::vector<std::pair<std::string, double>> fixed;                   // Which decide what the program computes.
  std::vector<NumberDemand> demands;                                   // Of other values that flags give them.
  std::vector<NamedMetric> metrics;
  std::vector<NamedTable> tables;
  std::vector<std::string> of_training = {};  // What is shown as metrics in training only, numbered after them.
  GenerationSettings generation;              // Of Mode::kGenerate.

  void Demand(bool (*holds)(), const char* otherwise) { demands.push_back({holds, otherwise}); }
};

using CreateProgram = std::unique_ptr<TrainingProgram> (*)(const Context& context);

// Runs the whole program and returns its exit code: 0 done, 2 usage, 3 wrong data or launch, 6 a loss that is not
// finite.
int Train(int argc, char** argv, const TrainingSettings& settings, CreateProgram create);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_TRAIN_H_
