// The cluster that a user names: a preset, or a file.
//
//   std::optional<Machines> machines = FindMachines("h100x8", diagnostics);
//   std::optional<Cluster> cluster = ResolveCluster({.name_or_path = "h100x8", .devices = 32}, *machines, diagnostics);
//
// A file may be a pipe, so it is read once.
#ifndef CLEAVE_SEARCH_MODEL_CLUSTER_RESOLVE_H_
#define CLEAVE_SEARCH_MODEL_CLUSTER_RESOLVE_H_

#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "search/model/cluster/cluster.h"
#include "search/model/cluster/machines.h"

namespace cleave::search {

struct ClusterRequest {
  std::string name_or_path;        // "cpu", "h100x8*4", "lab.json"
  std::optional<int64_t> devices;  // nullopt: the cluster's, else the model's, else one host's.
  std::optional<int64_t> model_devices = std::nullopt;
  Span model_span = {};  // Of the model's number; nowhere if it has none.
};

// The number of devices before the model is read: `given` overrides the model's, `otherwise` is used if the model has
// none.
struct DeviceCounts {
  std::optional<int64_t> given;
  int64_t otherwise = 1;

  bool operator==(const DeviceCounts&) const = default;
};

// nullopt after E0606 (neither a preset nor a file) or E0607 (a file that is not a cluster). A name without `/` and `.`
// is only looked for among the presets.
std::optional<Machines> FindMachines(const std::string& name_or_path, Diagnostics& diagnostics);

// Ignores what `request` has from the model.
DeviceCounts CountDevices(const ClusterRequest& request, const Machines& machines);

// The requested number of devices of `machines`. nullopt after E0608: there is no such cluster.
std::optional<Cluster> ResolveCluster(const ClusterRequest& request, const Machines& machines,
                                      Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_CLUSTER_RESOLVE_H_
