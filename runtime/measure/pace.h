// Private to runtime/measure: how long a call takes when all ranks make it at once.
//
//   Pace pace(comm, watch, 0.3);
//   for (int round = 0; round < Pace::kRounds; ++round) {
//     pace.Time({.what = "product", .of = "f32", .size = 512}, [&] { MatMul(shape, a, b, c); });
//   }
//   pace.figures();   // The times of all rounds.
#ifndef CLEAVE_RUNTIME_MEASURE_PACE_H_
#define CLEAVE_RUNTIME_MEASURE_PACE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

// A thing that is timed.
struct Figure {
  const char* what = "";  // "all_reduce", "product", "memory"
  const char* of = "";    // The link, or the type of the numbers.
  int64_t ranks = 1;      // Of a group.
  int64_t size = 0;       // Bytes; of a product its rows, columns and depth.
  // Seconds of a call in each repetition, as long as that of the slowest rank.
  std::vector<double> seconds = {};

  bool IsOfSame(const Figure& other) const;
};

class Pace {
 public:
  // All is measured several times, because something else may disturb a machine for a while.
  static constexpr int kRounds = 3;

  // `seconds`: what the repetitions of one figure are to take in all rounds.
  Pace(Comm& comm, Watch& watch, double seconds) : comm_(comm), watch_(watch), seconds_(seconds) {}

  // Adds the times of a round to the figure. A repetition is one call, or several in a row where one is too short for a
  // clock: on a GPU as a graph, in which kernels follow each other as in a training step. Called by all ranks. With
  // `is_recordable` false the calls are made one by one. Returns whether a call that takes `growth` times as long is
  // still to be measured, which is the same on all ranks.
  bool Time(const Figure& figure, double growth, const std::function<void()>& call, bool is_recordable = true);

  // About how many seconds one call takes, the same on all ranks.
  double Once(const std::function<void()>& call);

  // In the order in which they were measured first.
  const std::vector<Figure>& figures() const { return figures_; }

 private:
  // Of the rank that takes longest.
  double Slowest(double seconds);
  std::vector<double> Slowest(const std::vector<double>& seconds);

  Comm& comm_;
  Watch& watch_;
  const double seconds_;
  std::vector<Figure> figures_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MEASURE_PACE_H_
