// Work of the device that is asked for again and again in the same way: the phases of a training step.
//
//   Recorded forward;
//   for (…) forward.Run([&] { program.Forward(); });
//
// On a CPU the function is called each time. On a GPU it is called twice: the first time it allocates what it needs,
// the second time what it asks for is recorded in a graph (CUDA programming guide, "CUDA graphs"), which from then on
// is launched in its place. So it must ask for the same work with the same arguments each time, and must not look at
// values. What differs between runs is read from memory of the device (runtime/device/cuda/step_numbers.h).
//
// When Run has returned, all work that is asked for next waits for the communication which the function has begun and
// has not awaited.
#ifndef CLEAVE_RUNTIME_DEVICE_RECORDED_H_
#define CLEAVE_RUNTIME_DEVICE_RECORDED_H_

#include <functional>
#include <memory>

namespace cleave::runtime {

// What became of the function that was given to Run.
enum class Ran {
  kCalled,
  kRecorded,  // Called, and what it asked for is done, once.
  kReplayed,  // Not called.
};

class Recorded {
 public:
  Recorded();
  ~Recorded();
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  Ran Run(const std::function<void()>& work);

 private:
  struct Recording;
  std::unique_ptr<Recording> recording_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_RECORDED_H_
