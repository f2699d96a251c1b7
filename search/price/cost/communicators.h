// What the communicators of a program take of a device's memory, beside what the program allocates.
//
//   Bytes taken = CommunicatorMemory(cluster, program);   // Three of 662 MiB each: all ranks, "dp" and "tp".
#ifndef CLEAVE_SEARCH_PRICE_COST_COMMUNICATORS_H_
#define CLEAVE_SEARCH_PRICE_COST_COMMUNICATORS_H_

#include <cstdint>

#include "base/units/units.h"
#include "ir/program/program.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// The groups of ranks in which a rank communicates, that of all ranks among them; 0 where there is one rank only.
int64_t CommunicatorsOf(const ir::Program& program);

// Cluster::communicator for each of them: what the library says of itself is not less, as it connects ranks when it
// first needs them.
Bytes CommunicatorMemory(const Cluster& cluster, const ir::Program& program);

// What is kept free of a device's memory before it is known which communicators a plan needs: those of all ranks and of
// two kinds of parallelism. 0 for one device.
Bytes ReservedForCommunicators(const Cluster& cluster);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_COMMUNICATORS_H_
