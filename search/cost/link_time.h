// What a collective takes in a group whose ranks are joined by one kind of link.
#ifndef CLEAVE_SEARCH_COST_LINK_TIME_H_
#define CLEAVE_SEARCH_COST_LINK_TIME_H_

#include <cstdint>

#include "ir/program/program.h"
#include "search/cluster/cluster.h"

namespace cleave::search {

// Seconds before the first byte, of a group of `ranks`.
double GroupLatency(const Link& link, int64_t ranks);

// Bus bandwidth in bytes per second.
double BusBandwidth(const Link& link, int64_t ranks, ir::CollectiveKind kind);

// What a collective of `bytes` takes, relative to latency and bandwidth alone.
double RampFactor(const Link& link, double bytes);

// What each rank sends of `bytes` in a group of `ranks`, as bus bandwidth counts it.
double BusTraffic(ir::CollectiveKind kind, int64_t ranks, double bytes);

// Of the three above: (latency + traffic / bandwidth) * ramp.
double LinkSeconds(const Link& link, int64_t ranks, ir::CollectiveKind kind, double bytes);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_COST_LINK_TIME_H_
