// The machines that a program runs on: devices, their memory and rates, and the links between them from slowest to
// fastest.
//
//   Cluster cluster = CpuCluster(8);
//   Mesh mesh = MeshOfCluster(cluster);   // m0=2, m1=2, m2=2
//
// A value; presets are functions that return one.
#ifndef CLEAVE_SEARCH_CLUSTER_CLUSTER_H_
#define CLEAVE_SEARCH_CLUSTER_CLUSTER_H_

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/mesh/mesh.h"
#include "ir/pins/pins.h"

namespace cleave {

// One level of the machine: `count` groups of the next level (devices, at the last) joined by one kind of link.
struct Link {
  std::string name;  // "network", "host"
  int64_t count = 1;
  double bytes_per_second = 1e9;  // What one device gets in one direction.
  Seconds latency{0};             // Of one collective.

  bool operator==(const Link&) const = default;
};

struct Cluster {
  std::string name;               // "cpu"
  std::vector<Link> links;        // Slowest first; the product of their counts is the number of devices.
  Bytes memory_per_device{0};     // 0: not known.
  double flops_per_second = 1e9;  // Best rate of a matrix product on one device.
  double memory_bytes_per_second = 1e9;
  Seconds kernel_latency{0};  // The least time of one op.

  int64_t devices() const;

  bool operator==(const Cluster&) const = default;
};

// One host whose cores are the devices. Rates are those of one current server core: a rough guess, not a measurement.
Cluster CpuCluster(int64_t devices);

// Axes m0, m1, … of prime size, slowest link first, larger primes first within a link. A byte on the slowest link
// weighs 1, on the others in proportion to their bandwidth.
Mesh MeshOfCluster(const Cluster& cluster);

// The mesh that `named` asks for (outermost first), each axis as its prime sub-axes; MeshOfCluster when `named` is
// empty. Reports E0306 and returns nullopt when the product of the named axes is not the number of devices.
std::optional<Mesh> MeshFor(const Cluster& cluster, const std::vector<NamedAxis>& named, Span mesh_span,
                            Diagnostics& diagnostics);

// The mesh axes that a user's axis name stands for: the axis itself, or all of `NAME.0`, `NAME.1`, …; empty when there
// is none.
std::vector<AxisId> AxesNamed(const Mesh& mesh, absl::string_view name);

// What a user can call the axes: "dp", "tp"; "m0", "m1".
std::vector<std::string> AxisNames(const Mesh& mesh);

}  // namespace cleave

#endif  // CLEAVE_SEARCH_CLUSTER_CLUSTER_H_
