// The machines that a program runs on: devices, their memory and rates, and the links between them from slowest to
// fastest.
//
//   Cluster cluster = CpuCluster(8);
//   Mesh mesh = MeshOfCluster(cluster);   // m0=2, m1=2, m2=2
//
// A cluster is a value. It is made from a preset (presets.h), from a file (cluster_json.h), or from the name of one of
// these (resolve.h). search/price/cost/time.h computes how long things take on it.
#ifndef CLEAVE_SEARCH_MODEL_CLUSTER_CLUSTER_H_
#define CLEAVE_SEARCH_MODEL_CLUSTER_CLUSTER_H_

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::search {

// The time of an all-reduce in a group of `ranks` on a link: latency + bytes sent / bytes_per_second.
struct GroupRate {
  int64_t ranks = 2;
  Seconds latency{0};
  double bytes_per_second = 1e9;  // Bus bandwidth, as nccl-tests define it.

  bool operator==(const GroupRate&) const = default;
};

// The bus bandwidth that an all-reduce of `bytes` reaches, its latency included.
struct RampPoint {
  Bytes bytes{0};
  double bytes_per_second = 1e9;

  bool operator==(const RampPoint&) const = default;
};

// Measured all-reduces of a group of `ranks` by size, because libraries change their protocol with it. Collectives of
// other kinds and groups deviate from their formula by the same factor.
struct Ramp {
  int64_t ranks = 0;
  std::vector<RampPoint> points;  // Ascending by bytes; empty: the formula holds at every size.

  bool operator==(const Ramp&) const = default;
};

// All-reduces that the switch computes (NVLS, SHARP), in groups of at least `from_ranks`.
struct SwitchReduction {
  int64_t from_ranks = 2;
  double bytes_per_second = 1e9;  // Bus bandwidth.

  bool operator==(const SwitchReduction&) const = default;
};

// One level of the machine: `count` groups of the next level (devices, at the last) joined by one kind of link.
struct Link {
  std::string name;  // "network", "host"
  int64_t count = 1;
  double bytes_per_second = 1e9;       // What one device gets in one direction.
  Seconds latency{0};                  // Of one collective.
  Seconds latency_per_doubling{0};     // Added for each doubling of the ranks after the last of `groups`, or after two.
  std::vector<GroupRate> groups = {};  // Ascending by ranks; empty: latency and bytes_per_second hold for all.
  double one_way_ratio = 1;            // Bus bandwidth of all-gather and reduce-scatter, relative to the all-reduce's.
  Ramp ramp = {};
  std::optional<SwitchReduction> switch_reduction = std::nullopt;

  bool operator==(const Link&) const = default;
};

// Best rates of arithmetic on one device.
struct PeakRates {
  double f32 = 1e9;  // Operations per second outside of matrix units.
  double tf32 = 0;   // Products of f32 tensors on matrix units, in any format; 0: no such units.
  double bf16 = 0;   // Products of bf16 or f16 tensors; 0: not faster than f32.
  double fp8 = 0;    // Products of tensors of 8 bits; 0: there are none, and they are widened to bf16.
  // On a CPU: of what is no product, in loops of vectors, where f32 is the rate of products; 0: a GPU, f32 for both.
  double loops = 0;

  bool operator==(const PeakRates&) const = default;
};

// A product of `flops` operations reaches `share` of the peak.
struct EfficiencyPoint {
  Flops flops{0};
  double share = 1;

  bool operator==(const EfficiencyPoint&) const = default;
};

// A cache of `bytes`, and the rate at which it is read and written.
struct Cache {
  Bytes bytes{0};
  double bytes_per_second = 1e9;

  bool operator==(const Cache&) const = default;
};

struct Cluster {
  std::string name;            // "cpu"
  std::vector<Link> links;     // Slowest first; the product of their counts is the number of devices.
  Bytes memory_per_device{0};  // 0: not known.
  PeakRates peak;
  std::vector<EfficiencyPoint> matrix_efficiency = {};  // Ascending, linear between; empty: products run at the peak.
  double memory_bytes_per_second = 1e9;
  std::vector<Cache> caches = {};     // Ascending by bytes, descending by rate, all faster than the memory.
  double input_bytes_per_second = 0;  // Rate of reading a device's samples; 0: they are read ahead.
  Seconds kernel_floor{0};            // The least time of one op.
  double host_bytes_per_second = 0;   // Between a device and its host's memory, in one direction; 0: not known.
  Bytes communicator{0};              // What a communicator takes on each of its devices; 0: none, or not known.
  double overlap_slowdown = 1;        // How many times longer compute takes while communication goes on.

  int64_t devices() const;
  // Null where no link has the name.
  const Link* FindLink(absl::string_view name) const;

  bool operator==(const Cluster&) const = default;
};

// The errors in `cluster`: rates that are not positive and finite, lists out of order, two links of one name. Presets
// and parsed files have none.
std::vector<std::string> VerifyCluster(const Cluster& cluster);

// What loops on a CPU reach of the rate of its products: on an AMD EPYC with AVX-512 39 of 255 GFLOP/s (bench/kernels).
inline constexpr double kLoopsOfProducts = 0.15;

// One host whose cores are the devices, as fast as those of one measured server; `cleave calibrate` measures another.
Cluster CpuCluster(int64_t devices);

// Axes m0, m1, … of prime size, slowest link first, larger primes first within a link. A byte on the slowest link
// weighs 1, on the others in proportion to their bandwidth.
ir::Mesh MeshOfCluster(const Cluster& cluster);

// The mesh that `named` asks for (outermost first), each axis as its prime sub-axes; MeshOfCluster when `named` is
// empty. Reports E0306 and returns nullopt when the product of the named axes is not the number of devices.
std::optional<ir::Mesh> MeshFor(const Cluster& cluster, const std::vector<ir::NamedAxis>& named, Span mesh_span,
                                Diagnostics& diagnostics);

// The mesh axes that a user's axis name stands for: the axis itself, or all of `NAME.0`, `NAME.1`, …; empty when there
// is none.
ir::AxisList AxesNamed(const ir::Mesh& mesh, absl::string_view name);

// The names by which a user can call the axes: "dp", "tp"; "m0", "m1".
std::vector<std::string> AxisNames(const ir::Mesh& mesh);

// Axes that are interchangeable.
struct AxisClass {
  ir::AxisList axes;
  int64_t size = 1;   // Of each.
  double weight = 1;  // Of a byte on their link.
};

// Ordered by their first axis.
std::vector<AxisClass> AxisClassesOf(const ir::Mesh& mesh);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_CLUSTER_CLUSTER_H_
