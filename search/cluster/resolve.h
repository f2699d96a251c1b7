// The cluster that a user names: a preset, or a file.
//
//   std::optional<Cluster> cluster = ResolveCluster({.name_or_path = "h100x8", .devices = 32}, diagnostics);
#ifndef CLEAVE_SEARCH_CLUSTER_RESOLVE_H_
#define CLEAVE_SEARCH_CLUSTER_RESOLVE_H_

#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "search/cluster/cluster.h"

namespace cleave::search {

struct ClusterRequest {
  std::string name_or_path;        // "cpu", "h100x8*4", "lab.json"
  std::optional<int64_t> devices;  // Asked for; nullopt: as the cluster says, else the model, else one host's.
  std::optional<int64_t> model_devices = std::nullopt;
  Span model_span = {};  // Where the model says how many.
};

// What is known of the number of devices before the model is read: `given` holds whatever the model says, `otherwise`
// holds if the model says nothing.
struct DeviceCounts {
  std::optional<int64_t> given;
  int64_t otherwise = 1;

  bool operator==(const DeviceCounts&) const = default;
};

// nullopt after E0606 or E0607. What `request` has from the model is not used.
std::optional<DeviceCounts> CountDevices(const ClusterRequest& request, Diagnostics& diagnostics);

// nullopt after E0606 (neither a preset nor a file), E0607 (a file that is not a cluster) or E0608 (the machines cannot
// be `devices`). A name without `/` and `.` is only looked for among the presets.
std::optional<Cluster> ResolveCluster(const ClusterRequest& request, Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_CLUSTER_RESOLVE_H_
