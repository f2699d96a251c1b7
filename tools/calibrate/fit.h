// Private to tools/calibrate: from measured times to a cluster file.
#ifndef CLEAVE_TOOLS_CALIBRATE_FIT_H_
#define CLEAVE_TOOLS_CALIBRATE_FIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "search/model/cluster/cluster.h"
#include "search/model/cluster/cluster_json.h"
#include "search/model/cluster/machines.h"
#include "tools/calibrate/measurements.h"

namespace cleave::tools {

// How they were measured.
struct MeasuredHow {
  std::string name;            // Of the cluster.
  std::string target = "cpu";  // "cpu", "cuda"
  std::string comm = "mpi";    // What connected the ranks.
  int64_t hosts = 1;
  int64_t ranks_on_host = 1;
};

struct Calibration {
  search::Machines machines;
  search::ClusterNotes notes;  // A comment on each figure: how it was measured, how often, and how its times scatter.
};

// Latency and bandwidth for which latency + traffic / bandwidth is closest to the times of all-reduces, by the sum of
// squared relative errors. REQUIRES: all in groups of one size; at least two of different bytes.
search::GroupRate FitGroup(const std::vector<MeasuredCollective>& reductions);

// Whether figures of the links follow from a collective: all-reduces within a host and between hosts, of every second
// power of 2. The times of the others are predictions.
bool IsFitted(const MeasuredCollective& measured);

// Takes groups and ramps of the links from all-reduces, the ratio of other collectives from the largest ones, peaks and
// efficiency from products (on a GPU the efficiency of bf16), and the floor of an op from the least time of a product
// or, on a GPU, of a small kernel. On a CPU, sizes at which memory is faster than at the largest are caches. REQUIRES:
// what ParseMeasurements gives, of the program for `how`.
Calibration CalibrationFrom(const Measurements& measurements, const MeasuredHow& how);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_CALIBRATE_FIT_H_
