// Private to runtime/train: brings the batches to the model's inputs. The next batch is read while the device computes.
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

  // From here on the inputs hold the batch of training step `step`, or a batch of a part of the data that is not
  // trained on; OfPart returns how many of its samples are real.
  void Training(int64_t step);
  int64_t OfPart(DataPart part, int64_t index);

  // Reads the batch of training step `step` ahead of time, where that does not disturb the current step. It is the
  // batch that Training is asked for next, unless OfPart is called before.
  void ReadAhead(int64_t step);

 private:
  void Send(int64_t step);

  Batches& batches_;
  Staging staging_;
  int64_t sent_ = -1;  // The training step whose batch is sent and not yet delivered.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_FEED_H_
