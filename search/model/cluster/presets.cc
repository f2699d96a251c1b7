// Reading guide: a function for each kind of host (V100 to Cpu), with helpers for what they share, then the table of
// preset names. The figures are published or measured, and their sources are given beside them; docs/cost.md says how
// they are used.
#include "search/model/cluster/presets.h"

#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"

namespace cleave::search {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12;
constexpr double kMicro = 1e-6;

// The latency of all-reduces by NCCL on A100 in groups of 2, 4 and 8. It is assumed to be the same on later devices.
constexpr std::array<double, 3> kA100Latency = {46 * kMicro, 54 * kMicro, 79 * kMicro};
constexpr std::array<double, 3> kA100BusBandwidth = {193 * kGiga, 218 * kGiga, 227 * kGiga};

// Shares of the peak that products on A100 reach, by their number of operations, as calculon gives them; linear between
// these points.
std::vector<EfficiencyPoint> A100Efficiency() {
  return {{.flops = Flops(0), .share = 0.1},
          {.flops = Flops(1e9), .share = 0.6},
          {.flops = Flops(16e9), .share = 0.9},
          {.flops = Flops(128e9), .share = 0.95}};
}

// For another device: products that take equally long at the peak reach equal shares, but not more than the best share
// that ml-engineering has measured.
std::vector<EfficiencyPoint> EfficiencyOf(double peak, double best) {
  constexpr double kA100Peak = 312 * kTera;
  std::vector<EfficiencyPoint> points = A100Efficiency();
  for (EfficiencyPoint& point : points) {
    point.flops = point.flops * (peak / kA100Peak);
    point.share = std::min(point.share, best);
  }
  return points;
}

// Groups of 2, 4 and 8. A group of 8 reaches `of_eight`; smaller groups are slower in the same proportion as on A100.
std::vector<GroupRate> LikeA100(double of_eight) {
  std::vector<GroupRate> groups;
  for (size_t i = 0; i < kA100Latency.size(); ++i) {
    groups.push_back({.ranks = int64_t{2} << i,
                      .latency = Seconds(kA100Latency[i]),
                      .bytes_per_second = kA100BusBandwidth[i] / kA100BusBandwidth.back() * of_eight});
  }
  return groups;
}

// One network card per device. H100 rings over hosts of 8 gather 390 GB/s through 8 cards of 50 GB/s, and take 150 us
// more for each doubling of the hosts. Other cards are assumed to reach the same share of their rate.
Link Network(double card) {
  constexpr double kShareReached = 390.0 / (8 * 50);
  constexpr double kDoubling = 150 * kMicro;
  return {.name = "network",
          .bytes_per_second = card,
          .latency = Seconds(kDoubling),
          .latency_per_doubling = Seconds(kDoubling),
          .groups = {{.ranks = 2, .latency = Seconds(kDoubling), .bytes_per_second = kShareReached * card}}};
}

Link NvLink(double one_way, std::vector<GroupRate> groups) {
  return {.name = "host",
          .count = 8,
          .bytes_per_second = one_way,
          .latency = groups.front().latency,
          .groups = std::move(groups)};
}

struct Gpu {
  double one_way;      // Of all its links within the host.
  double card;         // Bytes per second.
  double memory;       // Bytes, decimal: less than the device has, because a little is always taken.
  double memory_rate;  // Bytes per second.
  PeakRates peak;
  double best_share;  // Of the bf16 peak, reached by any product.
  double host_rate;   // Bytes per second between it and pinned memory of its host, in one direction.
};

// What NVIDIA's bandwidthTest and nvbandwidth reach with pinned memory over 16 lanes of PCIe 3, 4 and 5.
constexpr double kPcie3 = 12 * kGiga, kPcie4 = 25 * kGiga, kPcie5 = 55 * kGiga;

// A communicator of NCCL has channels, and each a buffer for every device from which it receives: the one before it in
// a ring, and its parent and its child in a tree within a host (NCCL's issue 986: memory is linear in channels, and
// beyond two hosts no longer grows). A buffer has room for the three protocols: NCCL_BUFFSIZE, by default 4 MiB, for
// `Simple`, 512 KiB for `LL`, and 8 steps of 640 threads with 120 words of 8 bytes for `LL128` (src/include/device.h).
// Channels that are connected only when an algorithm is first used are counted, those of the switch (NVLS) are not.
Bytes CommunicatorOf(int64_t channels) {
  constexpr int64_t kConnections = 3;
  constexpr int64_t kSimple = int64_t{4} << 20, kLl = int64_t{512} << 10, kLl128 = int64_t{8} * 640 * 120 * 8;
  return Bytes(channels * kConnections * (kSimple + kLl + kLl128));
}

// As NCCL's logs say for eight A100 behind a switch; those of other GPUs are assumed to be as many.
constexpr int64_t kChannels = 24;

// A host of eight. A kernel takes at least 7 us (vTrain), and compute takes 1.1 to 1.3 times as long while
// communication goes on (Galvatron).
Machines HostOf(const Gpu& gpu, std::vector<GroupRate> groups) {
  return {.host = {.name = "",
                   .links = {NvLink(gpu.one_way, std::move(groups))},
                   .memory_per_device = Bytes(static_cast<int64_t>(gpu.memory)),
                   .peak = gpu.peak,
                   .matrix_efficiency = EfficiencyOf(gpu.peak.bf16, gpu.best_share),
                   .memory_bytes_per_second = gpu.memory_rate,
                   .kernel_floor = Seconds(7 * kMicro),
                   .host_bytes_per_second = gpu.host_rate,
                   .communicator = CommunicatorOf(kChannels),
                   .overlap_slowdown = 1.2},
          .network = Network(gpu.card)};
}

Machines V100() {
  constexpr Gpu kGpu = {.one_way = 150 * kGiga,
                        .card = 12.5 * kGiga,
                        .memory = 32 * kGiga,
                        .memory_rate = 0.9 * kTera,
                        .peak = {.f32 = 15.7 * kTera, .tf32 = 0, .bf16 = 125 * kTera},  // fp16.
                        .best_share = 0.87,  // It is not known; this is A100's.
                        .host_rate = kPcie3};
  return HostOf(kGpu, {{.ranks = 2, .latency = Seconds(24 * kMicro), .bytes_per_second = 23 * kGiga},
                       {.ranks = 4, .latency = Seconds(45 * kMicro), .bytes_per_second = 86 * kGiga},
                       {.ranks = 8, .latency = Seconds(76 * kMicro), .bytes_per_second = 136 * kGiga}});
}

Machines A100() {
  constexpr Gpu kGpu = {.one_way = 300 * kGiga,
                        .card = 25 * kGiga,
                        .memory = 80 * kGiga,
                        .memory_rate = 2.0 * kTera,
                        .peak = {.f32 = 19.5 * kTera, .tf32 = 156 * kTera, .bf16 = 312 * kTera},
                        .best_share = 0.87,
                        .host_rate = kPcie4};
  Machines machines = HostOf(kGpu, LikeA100(kA100BusBandwidth.back()));
  constexpr int64_t kMiB = 1 << 20;
  machines.host.links[0].ramp = {.ranks = 8,
                                 .points = {{.bytes = Bytes(1 * kMiB), .bytes_per_second = 20 * kGiga},
                                            {.bytes = Bytes(4 * kMiB), .bytes_per_second = 77 * kGiga},
                                            {.bytes = Bytes(16 * kMiB), .bytes_per_second = 126 * kGiga},
                                            {.bytes = Bytes(64 * kMiB), .bytes_per_second = 203 * kGiga},
                                            {.bytes = Bytes(256 * kMiB), .bytes_per_second = 217 * kGiga},
                                            {.bytes = Bytes(1024 * kMiB), .bytes_per_second = 229 * kGiga}}};
  return machines;
}

// 8 x H200 by NCCL: all-reduce 482 GB/s through the switch (from 5 devices), 368 by a ring; all-gather and
// reduce-scatter 362. Other NVLink switches of this kind are assumed to reach the same shares of their links.
Machines SwitchedHost(const Gpu& gpu) {
  constexpr double kOneWay = 450, kRing = 368, kBySwitch = 482, kGather = 362;
  Machines machines = HostOf(gpu, LikeA100(kRing / kOneWay * gpu.one_way));
  Link& link = machines.host.links[0];
  link.one_way_ratio = kGather / kRing;
  link.switch_reduction = {.from_ranks = 5, .bytes_per_second = kBySwitch / kOneWay * gpu.one_way};
  return machines;
}

Machines H100() {
  return SwitchedHost({.one_way = 450 * kGiga,
                       .card = 50 * kGiga,
                       .memory = 80 * kGiga,
                       .memory_rate = 3.35 * kTera,
                       .peak = {.f32 = 67 * kTera, .tf32 = 494.5 * kTera, .bf16 = 989 * kTera, .fp8 = 1979 * kTera},
                       .best_share = 0.80,
                       .host_rate = kPcie5});
}

Machines H200() {
  return SwitchedHost({.one_way = 450 * kGiga,
                       .card = 50 * kGiga,
                       .memory = 141 * kGiga,
                       .memory_rate = 4.8 * kTera,
                       .peak = {.f32 = 67 * kTera, .tf32 = 494.5 * kTera, .bf16 = 989 * kTera, .fp8 = 1979 * kTera},
                       .best_share = 0.80,
                       .host_rate = kPcie5});
}

Machines B200() {
  return SwitchedHost({.one_way = 900 * kGiga,
                       .card = 50 * kGiga,
                       .memory = 180 * kGiga,
                       .memory_rate = 8.0 * kTera,
                       .peak = {.f32 = 75 * kTera, .tf32 = 1125 * kTera, .bf16 = 2250 * kTera, .fp8 = 4500 * kTera},
                       .best_share = 0.78,
                       .host_rate = kPcie5});
}

// Ascend 910A by its published figures, none of them measured: 256 TFLOP/s in fp16, which products of f32 tensors use
// too; vector units of 32 cores with 64 f32 lanes at 1 GHz; HBM 32 GB at 1.2 TB/s. Two groups of four, each device
// joined to the three others of its group by HCCS links of 30 GB/s; between the groups PCIe 4.0 x16, 32 GB/s, assumed
// to be shared by two devices; one card of 100 Gb/s per device. Latencies and efficiency are assumed to be those of
// A100.
Machines Ascend910() {
  constexpr double kHccs = 30 * kGiga;
  std::vector<GroupRate> hccs;
  for (int64_t ranks = 2; ranks <= 4; ++ranks) {
    hccs.push_back({.ranks = ranks,
                    .latency = Seconds(ranks == 2 ? kA100Latency[0] : kA100Latency[1]),
                    .bytes_per_second = static_cast<double>(ranks - 1) * kHccs});
  }
  constexpr double kPeak = 256 * kTera;
  return {
      .host =
          {.name = "",
           .links = {{.name = "pcie", .count = 2, .bytes_per_second = 16 * kGiga, .latency = Seconds(kA100Latency[0])},
                     {.name = "hccs",
                      .count = 4,
                      .bytes_per_second = 3 * kHccs,
                      .latency = Seconds(kA100Latency[0]),
                      .groups = hccs}},
           .memory_per_device = Bytes(static_cast<int64_t>(32 * kGiga)),
           .peak = {.f32 = 32 * 64 * 2 * 1e9, .tf32 = kPeak, .bf16 = kPeak},
           .matrix_efficiency = EfficiencyOf(kPeak, 0.87),
           .memory_bytes_per_second = 1.2 * kTera,
           .kernel_floor = Seconds(7 * kMicro),
           .overlap_slowdown = 1.2},
      .network = Network(12.5 * kGiga)};
}

// A 10 Gb/s card per host, with the latency of TCP.
Machines Cpu() {
  return {.host = CpuCluster(1),
          .network = {.name = "network",
                      .bytes_per_second = 1.25 * kGiga,
                      .latency = Seconds(30 * kMicro),
                      .latency_per_doubling = Seconds(30 * kMicro)},
          .any_devices = true};
}

struct Preset {
  const char* name;
  Machines (*machines)();
};

constexpr std::array<Preset, 7> kPresets = {{{"cpu", Cpu},
                                             {"v100x8", V100},
                                             {"a100x8", A100},
                                             {"h100x8", H100},
                                             {"h200x8", H200},
                                             {"b200x8", B200},
                                             {"ascend910x8", Ascend910}}};

}  // namespace

// Measured on two cores of a Xeon with AVX-512, with one rank on each, and rounded.
Cluster CpuCluster(int64_t devices) {
  return Cluster{.name = "cpu",
                 .links = {Link{.name = "host",
                                .count = devices,
                                .bytes_per_second = 6 * kGiga,
                                .latency = Seconds(2 * kMicro),
                                .latency_per_doubling = Seconds(2 * kMicro)}},
                 .memory_per_device = Bytes(0),
                 .peak = {.f32 = 170 * kGiga, .loops = kLoopsOfProducts * 170 * kGiga},
                 .matrix_efficiency = {{.flops = Flops(1e3), .share = 0.01},
                                       {.flops = Flops(1e4), .share = 0.1},
                                       {.flops = Flops(1e5), .share = 0.4},
                                       {.flops = Flops(5e5), .share = 0.75},
                                       {.flops = Flops(5e6), .share = 0.95},
                                       {.flops = Flops(3e7), .share = 1}},
                 .memory_bytes_per_second = 12 * kGiga,
                 .caches = {{.bytes = Bytes(1 << 20), .bytes_per_second = 60 * kGiga},
                            {.bytes = Bytes(32 << 20), .bytes_per_second = 25 * kGiga}},
                 .input_bytes_per_second = 6.5 * kGiga,
                 .kernel_floor = Seconds(0.5 * kMicro)};
}

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

std::optional<Machines> FindPreset(absl::string_view name) {
  constexpr int64_t kMostHosts = 1 << 16;
  const size_t star = name.find('*');
  int64_t hosts = 0;
  if (star != absl::string_view::npos) {
    const absl::string_view count = name.substr(star + 1);
    const bool is_number = count.find_first_not_of("0123456789") == absl::string_view::npos;
    if (!is_number || !absl::SimpleAtoi(count, &hosts) || hosts < 1 || hosts > kMostHosts) return std::nullopt;
  }
  for (const Preset& preset : kPresets) {
    if (name.substr(0, star) != preset.name) continue;
    Machines machines = preset.machines();
    machines.host.name = std::string(name);
    machines.hosts = hosts;
    return machines;
  }
  return std::nullopt;
}

}  // namespace cleave::search
