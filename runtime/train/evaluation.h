// Private to runtime/train: the loss and the metrics over samples that are not trained on.
#ifndef CLEAVE_RUNTIME_TRAIN_EVALUATION_H_
#define CLEAVE_RUNTIME_TRAIN_EVALUATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/data/data.h"
#include "runtime/error/error.h"
#include "runtime/kernels/observer.h"
#include "runtime/trace/trace.h"
#include "runtime/train/feed.h"
#include "runtime/train/options.h"
#include "runtime/train/phase.h"
#include "runtime/train/profile.h"
#include "runtime/train/report.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

// Whether the model or a flag asks for evaluations, and not only for the test that ends an epoch.
bool AsksForEvaluation(const TrainingSettings& settings, const Options& options);

// An Error (exit code 2 or 3) where what is asked for cannot be.
std::optional<Error> CheckEvaluation(const TrainingSettings& settings, const Options& options, bool saves,
                                     const Batches& batches);

class Evaluation {
 public:
  // `step`: Context::step. All of it outlives the evaluation.
  Evaluation(const TrainingSettings& settings, const Context& context, uint64_t& step, TrainingProgram& program,
             Batches& batches, Feed& feed, Profile& profile, bool is_recordable);

  // Changes neither parameters nor what the optimizer keeps of them. The values are the same on all ranks.
  //
  // Metrics are means over all samples, or numbers of sums over them, those of a program without a sample mask over the
  // whole batches among them.
  // The loss is a mean over the whole batches, because what fills up the last one counts in it; it is among the values
  // where `with_loss` or where there are no metrics, and where there is a whole batch. Metrics whose names begin with
  // `loss.` are parts of the loss, and means of the same batches.
  EvaluationRecord Over(DataPart part, bool with_loss);

 private:
  const TrainingSettings& settings_;
  Comm& comm_;
  Watch& watch_;
  Observer& observer_;
  uint64_t& step_;
  TrainingProgram& program_;
  Batches& batches_;
  Feed& feed_;
  Profile* const profile_;  // Of a program that does not train; else null.
  Phase phase_;
  bool has_mask_ = false;
  std::vector<bool> is_of_loss_;  // By metric.
  bool has_metrics_ = false;      // Some are not parts of the loss.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_EVALUATION_H_
