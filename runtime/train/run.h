// Private to runtime/train: what a program does with its data once everything is open.
#ifndef CLEAVE_RUNTIME_TRAIN_RUN_H_
#define CLEAVE_RUNTIME_TRAIN_RUN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/comm/comm.h"
#include "runtime/data/data.h"
#include "runtime/error/error.h"
#include "runtime/kernels/observer.h"
#include "runtime/trace/trace.h"
#include "runtime/train/best.h"
#include "runtime/train/evaluation.h"
#include "runtime/train/feed.h"
#include "runtime/train/options.h"
#include "runtime/train/parameter_norm.h"
#include "runtime/train/phase.h"
#include "runtime/train/profile.h"
#include "runtime/train/redistributions.h"
#include "runtime/train/report.h"
#include "runtime/train/saving.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

class Run {
 public:
  // `done`: how many steps the training that goes on had done; `best`: what it had found. `step`: Context::step. All of
  // it outlives the run. `parameters`: of all stages.
  Run(const TrainingSettings& settings, const Options& options, const Context& context, uint64_t& step, int64_t done,
      Best& best, TrainingProgram& program, const std::vector<ParameterView>& parameters, Batches& batches,
      Report& report, Saving& saving, RedistributionLog& redistributions);

  // What the program is there for. Returns an Error, the same on all ranks, when it fails.
  std::optional<Error> Whole();

  // Gathers what every rank measured.
  RunRecord Finish(ExitCode code);

  // Writes the trace of a profile, if one is wanted. An Error that all ranks agree on.
  std::optional<Error> WriteTrace(const std::string& folder) {
    return profile_.WriteTrace(folder, program_.ArenaBytes());
  }

 private:
  // Trains, evaluates and tests. Returns an Error when a value is not finite.
  std::optional<Error> Steps();
  // Computes the metrics of the part that is tested.
  std::optional<Error> Evaluate();
  // Writes what the program looks at, of all samples, into files. Rank 0 has them whole.
  std::optional<Error> Predict();

  std::optional<Error> Step(int64_t step, int64_t total, bool logged);
  // Whether there is an evaluation after so many steps.
  bool IsEvaluated(int64_t steps) const;
  // An evaluation while training goes on. Returns whether it is the best so far.
  bool EvaluateAfter(int64_t steps, int64_t total);
  // The test at the end of training, unless an evaluation has just done the same.
  void TestAtEnd(int64_t steps, int64_t total);
  EvaluationRecord Measure(DataPart part);
  // "epoch 3", or "step 200/1000" where evaluations are not those of epochs.
  std::string Where(int64_t steps, int64_t total) const;
  // Data is made ready outside of the time that training takes.
  template <typename Prepare>
  void PrepareData(Prepare prepare);
  // Shows what the program has looked at. Returns the seconds that this took.
  double Show();
  StepScalars Scalars(int64_t step) const;

  // Computes the step again in checking mode and names the first value that is not finite, over all ranks.
  Error Explain(int64_t step, float loss);
  // An Error if a parameter is not finite. After the last update no later loss would show it.
  std::optional<Error> CheckParameters(int64_t steps);
  void CheckParameter(const ParameterView& view);
  std::string FirstOverRanks(const std::optional<Watch::NotFinite>& found);

  const TrainingSettings& settings_;
  const Options& options_;
  Comm& comm_;
  Watch& watch_;
  Observer& observer_;
  uint64_t& step_;
  const int64_t done_;
  Best& best_;
  TrainingProgram& program_;
  Batches& batches_;
  Report& report_;
  Saving& saving_;
  RedistributionLog& redistributions_;
  Feed feed_;
  const std::vector<ParameterView>& parameters_;
  const ParameterNorm parameter_norm_{comm_, parameters_, settings_.of_training};
  Profile profile_;
  const bool recordable_ = program_.IsRecordable() && comm_.IsRecordable() && !profile_.is_on();
  Phase gradients_{"the gradients", recordable_, comm_, watch_};
  Phase with_metrics_{"the metrics and gradients", recordable_, comm_, watch_};
  Phase update_{"the update", recordable_, comm_, watch_};
  Phase predict_{"a batch", recordable_, comm_, watch_};
  Evaluation evaluation_;
  const int64_t evaluate_every_;                 // Steps; 0: after each epoch.
  const bool evaluates_loss_;                    // As the model asks for evaluations.
  std::optional<DataPart> just_evaluated_ = {};  // After the current step.
  double start_ = 0;                             // When training began, moved by what is not part of it.
  RunRecord record_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_RUN_H_
