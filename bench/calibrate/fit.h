// Makes the description of a host whose cores are the devices from measured times.
#ifndef CLEAVE_BENCH_CALIBRATE_FIT_H_
#define CLEAVE_BENCH_CALIBRATE_FIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/units/units.h"
#include "ir/program/program.h"
#include "search/model/cluster/cluster.h"

namespace cleave::bench {

// A collective in groups of `ranks`; bytes as CollectiveSeconds counts them.
struct MeasuredCollective {
  ir::CollectiveKind kind = ir::CollectiveKind::kAllReduce;
  int64_t ranks = 2;
  Bytes bytes{0};
  Seconds seconds{0};
};

struct MeasuredProduct {
  Flops flops{0};
  Seconds seconds{0};
};

// Memory that is read and written again and again, `bytes` in all.
struct MeasuredMemory {
  Bytes bytes{0};
  double bytes_per_second = 1;
};

struct Measurements {
  int64_t ranks = 2;
  std::vector<MeasuredCollective> collectives;  // By kind, then ranks, then bytes, all ascending.
  std::vector<MeasuredProduct> products;        // Ascending by flops.
  std::vector<MeasuredMemory> memory;           // By one rank while all ranks do so; ascending, the last in no cache.
  double input_bytes_per_second = 0;            // Of a batch of images that one rank reads.
  Bytes memory_per_rank{0};
};

// Latency and bandwidth for which latency + traffic / bandwidth is closest to the times of all-reduces in groups of
// `ranks`, by the sum of squared relative errors. REQUIRES: at least two of different size.
search::GroupRate FitGroup(const std::vector<MeasuredCollective>& collectives, int64_t ranks);

// Takes groups and ramp from the all-reduces, the ratio of other collectives from the largest ones, peak and efficiency
// from the products, the floor of an op from the least time of a product, and caches from the sizes at which memory is
// faster than at the largest.
search::Cluster ClusterFrom(const Measurements& measurements, const std::string& name);

}  // namespace cleave::bench

#endif  // CLEAVE_BENCH_CALIBRATE_FIT_H_
