// The time of a collective in a group whose ranks are joined by one kind of link.
#ifndef CLEAVE_SEARCH_PRICE_COST_LINK_TIME_H_
#define CLEAVE_SEARCH_PRICE_COST_LINK_TIME_H_

#include <cstdint>

#include "ir/program/program.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// Seconds before the first byte, in a group of `ranks`.
double GroupLatency(const Link& link, int64_t ranks);

// Bus bandwidth in bytes per second.
double BusBandwidth(const Link& link, int64_t ranks, ir::CollectiveKind kind);

// The time of a collective of `bytes`, relative to latency and bandwidth alone.
double RampFactor(const Link& link, double bytes);

// The part of `bytes` that each rank sends in a group of `ranks`, as bus bandwidth counts it.
double BusTraffic(ir::CollectiveKind kind, int64_t ranks, double bytes);

// The time from the three above: (latency + traffic / bandwidth) * ramp.
double LinkSeconds(const Link& link, int64_t ranks, ir::CollectiveKind kind, double bytes);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_LINK_TIME_H_
