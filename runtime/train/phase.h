// Private to runtime/train: a phase of a training step, which a GPU may record.
#ifndef CLEAVE_RUNTIME_TRAIN_PHASE_H_
#define CLEAVE_RUNTIME_TRAIN_PHASE_H_

#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/comm/comm.h"
#include "runtime/device/recorded.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

class Phase {
 public:
  // `name`: the name of the phase in reports while it is replayed.
  Phase(const char* name, bool recordable, Comm& comm, Watch& watch)
      : name_(name), recordable_(recordable), comm_(comm), watch_(watch) {}

  // `work` is the same each time. What it communicates is counted each time. Called by all ranks.
  void Run(const std::function<void()>& work);

  // The same, and never replayed.
  void Call(const std::function<void()>& work);

  // What a replay launches; none where nothing was recorded.
  GraphNodes nodes() const { return recorded_.nodes(); }

 private:
  const char* const name_;
  const bool recordable_;
  Comm& comm_;
  Watch& watch_;
  std::optional<std::shared_ptr<const MessagePlan>> messages_;  // Once it is known.
  Recorded recorded_;
  std::array<Traffic, kCollectiveKinds> traffic_;  // Of one run.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_PHASE_H_
