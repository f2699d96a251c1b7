// Private to runtime/train: saves the state of training while it goes on, and ends it when SIGTERM asks for that.
#ifndef CLEAVE_RUNTIME_TRAIN_SAVING_H_
#define CLEAVE_RUNTIME_TRAIN_SAVING_H_

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/writer.h"
#include "runtime/comm/comm.h"
#include "runtime/trace/trace.h"
#include "runtime/train/report.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

// The parameters and what the optimizer keeps of them.
std::vector<StateTensor> StateOf(const std::vector<ParameterView>& parameters);

struct SavingOptions {
  std::string folder;  // "checkpoints"
  int64_t every = 0;   // Steps; 0: nothing is saved.
  int64_t keep = 3;
  std::optional<int64_t> last_good = {};  // The step of a checkpoint in the folder that was read.
};

// Each rank writes its part in a thread of its own. About twice a second all ranks tell each other how far they are,
// and whether they were asked to stop.
class Saving {
 public:
  // `facts`: all but the step and the best evaluation.
  Saving(Comm& comm, Watch& watch, Report& report, const SavingOptions& options, const CheckpointFacts& facts,
         std::vector<StateTensor> state);

  bool is_on() const { return writer_ != nullptr; }
  // Of the memory in which what is written waits.
  int64_t bytes() const { return is_on() ? writer_->bytes() : 0; }

  // The end of a step, the same on all ranks.
  struct StepEnd {
    int64_t step = 0;
    bool is_last = false;
    bool is_best = false;                // Of an evaluation that is better than all before.
    std::optional<BestSoFar> best = {};  // Of training that looks for it.
  };

  // Called by all ranks at the end of each step. Returns an Error that all agree on where something cannot be written.
  // After the last step, and the one after which training stops, everything is on disk when this returns.
  std::optional<Error> AfterStep(const StepEnd& end);

  // Whether a checkpoint is written after this step.
  bool IsDue(const StepEnd& end) const {
    return is_on() && (end.is_last || end.is_best || end.step % options_.every == 0);
  }

  // Whether all ranks stop after this step.
  bool stops() const { return stops_; }

 private:
  std::optional<Error> Exchange();
  std::optional<Error> WaitForEnd();
  std::string News();
  bool IsBusy() const;
  std::optional<Error> Conclude(const std::vector<std::string>& news);

  Comm& comm_;
  Watch& watch_;
  Report& report_;
  const SavingOptions options_;
  CheckpointFacts facts_;  // Of what is being written.
  const std::vector<StateTensor> state_;
  std::unique_ptr<ShardWriter> writer_;
  bool is_saving_ = false;                // On some rank.
  std::optional<Result<Shard>> written_;  // By this rank, while others still write.
  // On rank 0, when all have written: the index is written and the folder gets its name.
  std::future<std::optional<Error>> completion_;
  std::optional<int64_t> last_good_;
  int64_t steps_since_exchange_ = 0;
  int64_t steps_between_ = 1;  // Two exchanges.
  double exchanged_at_ = 0;
  bool stops_ = false;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_SAVING_H_
