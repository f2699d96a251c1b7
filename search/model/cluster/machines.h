// Hosts of one kind, of which a cluster with a given number of devices is a part.
//
//   std::optional<Cluster> two_hosts = ClusterOf(machines, 16);
#ifndef CLEAVE_SEARCH_MODEL_CLUSTER_MACHINES_H_
#define CLEAVE_SEARCH_MODEL_CLUSTER_MACHINES_H_

#include <optional>
#include <vector>

#include "search/model/cluster/cluster.h"

namespace cleave::search {

struct Machines {
  Cluster host;              // One host with all its devices; its links are those within.
  Link network;              // Between hosts; its count is not used.
  int64_t hosts = 0;         // 0: unlimited.
  bool any_devices = false;  // Of a host, which share its network link; then 0 hosts is one.

  // The devices of all hosts; of one host where there is no limit.
  int64_t devices() const;

  bool operator==(const Machines&) const = default;
};

// The first `devices` devices: part of one host, or whole hosts; nullopt where neither has that number. In part of a
// host a slower link is used only when all devices behind the faster ones are.
std::optional<Cluster> ClusterOf(const Machines& machines, int64_t devices);

// The numbers of devices next to `devices` for which there is a cluster: at most one below and one above.
std::vector<int64_t> NearestDevices(const Machines& machines, int64_t devices);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_CLUSTER_MACHINES_H_
