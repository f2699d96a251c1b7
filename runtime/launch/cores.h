// How many cores a rank may compute on, and how its threads wait for each other.
#ifndef CLEAVE_RUNTIME_LAUNCH_CORES_H_
#define CLEAVE_RUNTIME_LAUNCH_CORES_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/comm.h"

namespace cleave::runtime {

// What the system lets one rank use.
struct RankCores {
  std::string host;
  std::vector<bool> cores;                     // By number, those that its process may run on.
  std::optional<double> quota = std::nullopt;  // The processor time that its control group gets, in cores.
};

// Of the calling rank.
RankCores OwnCores();

// The least quota of a control group and those that it is in: `groups` is the text of /proc/self/cgroup, `root` the
// folder where they are mounted. nullopt: none has one.
std::optional<double> QuotaOf(const std::string& groups, const std::string& root);

// How many threads rank `own` should use: its share of the cores that the ranks of its host may use together, at most
// as many as it may use itself, and its share of the quota, rounded down. At least 1.
int ThreadsOf(const std::vector<RankCores>& ranks, size_t own);

// The same for the calling rank. Called by all ranks.
int ThreadsPerRank(Comm& comm);

// Whether the calling rank computes on fewer threads than its share of the cores. Called by all ranks.
bool HasSpareCore(Comm& comm);

// OpenMP threads that wait for each other spin for milliseconds before they sleep. Where other processes want the
// cores, they so keep them from the threads for which they wait, and a step takes ten times as long. From here on they
// spin for some microseconds, unless the environment says how long (GOMP_SPINCOUNT, OMP_WAIT_POLICY). libgomp looks
// there when the process starts, so the process starts itself again. Called first in `main`.
void SpinBriefly(char** argv);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_LAUNCH_CORES_H_
