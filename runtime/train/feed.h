// Private to runtime/train: gets the batches to the model's inputs, the next one while the device computes.
#ifndef CLEAVE_RUNTIME_TRAIN_FEED_H_
#define CLEAVE_RUNTIME_TRAIN_FEED_H_

#include <cstdint>
#include <vector>

#include "runtime/data/data.h"
#include "runtime/device/staging.h"

namespace cleave::runtime {

class Feed {
 public:
  Feed(const std::vector<ModelInput>& inputs, Batches& batches);

  // From here on the inputs are the batch of training step `step`, or of the test part; the latter returns how many of
  // its samples are real.
  void Training(int64_t step);
  int64_t Test(int64_t index);

  // Reads the batch of training step `step` where that does not disturb the step under way: it is what Training will be
  // asked for next, unless Test is.
  void ReadAhead(int64_t step);

 private:
  void Send(int64_t step);

  Batches& batches_;
  Staging staging_;
  int64_t sent_ = -1;  // The training step whose batch is sent and not yet delivered.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_FEED_H_
