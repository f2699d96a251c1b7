// Private to runtime/measure: collectives by link, kind, group and size.
#ifndef CLEAVE_RUNTIME_MEASURE_LINKS_H_
#define CLEAVE_RUNTIME_MEASURE_LINKS_H_

#include <cstdint>

#include "runtime/comm/comm.h"
#include "runtime/device/device.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/pace.h"

namespace cleave::runtime {

// Collectives in groups of ranks of one host ("host"), of ranks with the same place on each host ("network"), of 2 up
// to all of them, and of all ranks where these cross both ("all"). All groups of a kind work at once. Bytes are those
// of a rank's input, of an all-gather of its output.
//
// All-reduces, all-gathers and reduce-scatters of 1 KiB to 64 MiB (on a GPU 256 MiB) in steps of 4 are what a cluster
// file is fitted to; every second power of 2 between them, and all-to-alls, broadcasts and permutations, are to check
// it.
//
// REQUIRES: the arena is zeros.
void MeasureLinks(const MeasuredMachines& machines, Comm& comm, const Arena& arena, Pace& pace);

// The seconds of an all-reduce of all ranks by itself, of products by themselves that take longer, and of both begun
// together, as three figures "overlap": of what computing loses while communication goes on. None for one rank.
// `products`: how many they are; 0 in the first round, which decides it.
void MeasureOverlap(Comm& comm, const Arena& arena, Pace& pace, int64_t& products);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MEASURE_LINKS_H_
