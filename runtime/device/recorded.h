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
// A function that does nearly the same several times, such as the micro-batches of a step, begins another graph for
// each time (NextGraph). Graphs that differ in nothing but the arguments of their nodes share what the device keeps of
// a graph; before one of them is launched, its arguments are put there ("Whole graph update"). So the device keeps the
// nodes of one micro-batch, not those of all.
//
// When Run has returned, all work that is asked for next waits for the communication which the function has begun and
// has not awaited.
#ifndef CLEAVE_RUNTIME_DEVICE_RECORDED_H_
#define CLEAVE_RUNTIME_DEVICE_RECORDED_H_

#include <cstdint>
#include <functional>
#include <memory>

namespace cleave::runtime {

// The nodes of graphs, by kind.
struct GraphNodes {
  int64_t kernels = 0;  // Of libraries, too.
  int64_t copies = 0;
  int64_t fills = 0;   // Of memory, with one value.
  int64_t others = 0;  // What streams write themselves, and what the host does.

  int64_t All() const { return kernels + copies + fills + others; }
  void Add(const GraphNodes& more) {
    kernels += more.kernels;
    copies += more.copies;
    fills += more.fills;
    others += more.others;
  }
};

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

  // Of the graphs that a replay launches; none before the function was recorded.
  GraphNodes nodes() const;

  // Called by a function that is given to Run, for the calling thread's rank; elsewhere there is nothing to divide.
  // What is asked for from here on is in another graph, and waits for communication that has been begun.
  static void NextGraph();
  // Does `work` now, and in each later run between what was asked for before and what is asked for next. It is not
  // recorded, may be what graphs cannot have, and waits for communication that has been begun.
  static void Between(std::function<void()> work);
  // Does `work` in each run before the graph that is being recorded, in the place of what the graph was told before.
  // Elsewhere it does nothing: what is asked for then has its own order.
  static void BeforeGraph(std::function<void()> work);

 private:
  struct Recording;
  std::unique_ptr<Recording> recording_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_RECORDED_H_
