// The time of a collective in a group whose ranks are joined by one kind of link.
#ifndef CLEAVE_SEARCH_PRICE_COST_LINK_TIME_H_
#define CLEAVE_SEARCH_PRICE_COST_LINK_TIME_H_

#include <cstdint>

#include "ir/program/program.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// Latency in seconds, in a group of `ranks`.
double GroupLatency(const Link& link, int64_t ranks);

// Bus bandwidth in bytes per second.
double BusBandwidth(const Link& link, int64_t ranks, ir::CollectiveKind kind);

// Measured / formula (Link::ramp) for a collective of `bytes`; 1 where nothing was measured.
double RampFactor(const Link& link, double bytes);

// The bytes that bus bandwidth counts for a collective of `bytes` (docs/cost.md, traffic).
double BusTraffic(ir::CollectiveKind kind, int64_t ranks, double bytes);

// Seconds: (latency + traffic / bandwidth) * ramp.
double LinkSeconds(const Link& link, int64_t ranks, ir::CollectiveKind kind, double bytes);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_LINK_TIME_H_
