// What machines do in a second: the program that measures them for a cluster file.
//
//   int main(int argc, char** argv) { return Measure(argc, argv, {.network = {2}, .host = {2, 2}}); }
//
// All ranks work at the same time, as in training. Rank 0 writes `measurements.jsonl` into the folder of the program,
// one object a line: for each rank `rank`, `host`, `device`, `memory` (bytes) and `threads`, and for each figure
// `what`, `of`, `ranks` and `size` (Figure in pace.h), the number of its `repetitions`, and the `least`, the `median`
// and the `upper_quartile` of the seconds that a call took in them.
//
// Flags: `--seconds S`, how long one figure is measured (0.3): it is repeated 6 to 300 times in three rounds, and of
// large sizes none is tried whose single call is expected to take longer.
#ifndef CLEAVE_RUNTIME_MEASURE_MEASURE_H_
#define CLEAVE_RUNTIME_MEASURE_MEASURE_H_

#include <cstdint>
#include <vector>

namespace cleave::runtime {

// Hosts with equally many ranks, those of a host one after another.
struct MeasuredMachines {
  std::vector<int64_t> network = {};        // The number of hosts, as the axes of a mesh; outermost first.
  std::vector<int64_t> host = {};           // The ranks of a host, in the same way.
  int64_t most_bytes = int64_t{256} << 20;  // Of memory that a rank takes to measure with.
};

// Returns the exit code. What goes wrong has been printed.
int Measure(int argc, char** argv, const MeasuredMachines& machines);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MEASURE_MEASURE_H_
