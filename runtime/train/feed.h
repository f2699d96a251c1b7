// Private to runtime/train: brings the batches to the model's inputs.
//
//   feed.Training(step);
//   feed.BeginAhead(step + 1);   // A thread of the feed's own reads while the step is computed.
//   …                            // The step is computed, or on a GPU begun.
//   feed.EndAhead();             // All threads read what is left.
//
// Without that thread a GPU computes while EndAhead reads, and on a CPU Training reads.
#ifndef CLEAVE_RUNTIME_TRAIN_FEED_H_
#define CLEAVE_RUNTIME_TRAIN_FEED_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/data/data.h"
#include "runtime/device/staging.h"
#include "runtime/error/error.h"

namespace cleave::runtime {

class Feed {
 public:
  // `has_thread`: whether a thread of its own reads ahead.
  Feed(const std::vector<ModelInput>& inputs, Batches& batches, bool has_thread);
  ~Feed();

  // From here on the inputs hold the batch of training step `step`, or a batch of a part of the data that is not
  // trained on; OfPart returns how many of its samples are real.
  void Training(int64_t step);
  int64_t OfPart(DataPart part, int64_t index);

  // Reads the batch of training step `step` ahead of time. It is the batch that Training is asked for next, unless
  // OfPart is called before: only then what is wrong with it ends the program. Between the two calls the Batches are
  // not used otherwise.
  void BeginAhead(int64_t step);
  void EndAhead();

 private:
  void Begin(int64_t step);
  void End();
  void Work();  // Of the thread.

  Batches& batches_;
  const bool has_thread_;
  Staging staging_;
  int64_t begun_ = -1;            // The training step whose batch is being read.
  int64_t sent_ = -1;             // The training step whose batch is sent and not yet delivered.
  std::optional<Error> mistake_;  // In the batch that is sent.

  std::mutex mutex_;  // Of what the thread waits for.
  std::condition_variable wakes_;
  bool has_work_ = false;
  bool is_over_ = false;
  std::thread thread_;  // Since it was needed first.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_FEED_H_
