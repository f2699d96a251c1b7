#include "search/model/cluster/machines.h"

#include <algorithm>

namespace cleave::search {
namespace {

// Reduces the links to so many devices, fastest links first. Returns whether that is possible.
bool CutTo(int64_t devices, std::vector<Link>& links) {
  for (auto link = links.rbegin(); link != links.rend(); ++link) {
    if (devices < link->count) link->count = devices;
    if (devices % link->count != 0) return false;
    devices /= link->count;
  }
  return devices == 1;
}

std::optional<Cluster> PartOfOneHost(const Machines& machines, int64_t devices) {
  Cluster cluster = machines.host;
  if (!CutTo(devices, cluster.links)) return std::nullopt;
  return cluster;
}

Cluster WholeHosts(const Machines& machines, int64_t hosts) {
  Cluster cluster = machines.host;
  if (hosts == 1) return cluster;
  Link network = machines.network;
  network.count = hosts;
  cluster.links.insert(cluster.links.begin(), std::move(network));
  return cluster;
}

std::optional<Cluster> HostsOfAnySize(const Machines& machines, int64_t devices) {
  const int64_t hosts = std::max<int64_t>(machines.hosts, 1);
  if (devices % hosts != 0) return std::nullopt;
  Machines sized = machines;
  sized.host.links.back().count = devices / hosts;
  sized.network.bytes_per_second /= static_cast<double>(devices / hosts);
  return WholeHosts(sized, hosts);
}

}  // namespace

int64_t Machines::devices() const { return host.devices() * std::max<int64_t>(hosts, 1); }

std::optional<Cluster> ClusterOf(const Machines& machines, int64_t devices) {
  if (devices < 1) return std::nullopt;
  if (machines.any_devices) return HostsOfAnySize(machines, devices);
  const int64_t per_host = machines.host.devices();
  if (devices < per_host) return PartOfOneHost(machines, devices);
  if (devices % per_host != 0 || (machines.hosts > 0 && devices / per_host > machines.hosts)) return std::nullopt;
  return WholeHosts(machines, devices / per_host);
}

std::vector<int64_t> NearestDevices(const Machines& machines, int64_t devices) {
  const int64_t step =
      std::max(machines.host.devices(), machines.hosts);  // Every range of this length has such a number.
  const int64_t most = machines.any_devices || machines.hosts == 0 ? devices + step : machines.devices();
  std::vector<int64_t> nearest;
  int64_t below = std::min(devices - 1, most);
  while (below > 0 && !ClusterOf(machines, below).has_value()) --below;
  if (below > 0) nearest.push_back(below);
  int64_t above = devices + 1;
  while (above <= most && !ClusterOf(machines, above).has_value()) ++above;
  if (above <= most) nearest.push_back(above);
  return nearest;
}

}  // namespace cleave::search
