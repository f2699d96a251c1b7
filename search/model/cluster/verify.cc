#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {
namespace {

class Findings {
 public:
  void Positive(absl::string_view what, double value) {
    if (!std::isfinite(value) || value <= 0) Add(what, value, "is not greater than zero");
  }
  void NotNegative(absl::string_view what, double value) {
    if (!std::isfinite(value) || value < 0) Add(what, value, "is negative or not a number");
  }
  void Share(absl::string_view what, double value) {
    if (!(value > 0 && value <= 1)) Add(what, value, "is not a share between 0 and 1");
  }
  void Above(absl::string_view what, double least, double value) {
    if (!(least < value)) Add(what, value, absl::StrCat("is not greater than ", least));
  }
  void Add(absl::string_view what, double value, absl::string_view why) {
    findings_.push_back(absl::StrCat(what, " ", why, ": ", value));
  }
  void Add(std::string finding) { findings_.push_back(std::move(finding)); }

  std::vector<std::string> Take() { return std::move(findings_); }

 private:
  std::vector<std::string> findings_;
};

void CheckGroups(const Link& link, const std::string& of, Findings& findings) {
  double before = 1;
  for (const GroupRate& group : link.groups) {
    findings.Above(absl::StrCat("the size of a group", of), before, static_cast<double>(group.ranks));
    findings.NotNegative(absl::StrCat("the latency of a group", of), group.latency.value());
    findings.Positive(absl::StrCat("the bus bandwidth of a group", of), group.bytes_per_second);
    before = static_cast<double>(group.ranks);
  }
}

void CheckRamp(const Link& link, const std::string& of, Findings& findings) {
  if (link.ramp.points.empty()) return;
  findings.Above(absl::StrCat("the group of the ramp", of), 1, static_cast<double>(link.ramp.ranks));
  double before = 0;
  for (const RampPoint& point : link.ramp.points) {
    findings.Above(absl::StrCat("the size of a point of the ramp", of), before,
                   static_cast<double>(point.bytes.value()));
    findings.Positive(absl::StrCat("the bus bandwidth of a point of the ramp", of), point.bytes_per_second);
    before = static_cast<double>(point.bytes.value());
  }
}

void CheckLink(const Link& link, Findings& findings) {
  const std::string of = absl::StrCat(" of link `", link.name, "`");
  if (link.name.empty()) findings.Add("a link has no name");
  findings.Positive(absl::StrCat("the count", of), static_cast<double>(link.count));
  findings.Positive(absl::StrCat("the bandwidth", of), link.bytes_per_second);
  findings.NotNegative(absl::StrCat("the latency", of), link.latency.value());
  findings.NotNegative(absl::StrCat("the latency per doubling", of), link.latency_per_doubling.value());
  findings.Positive(absl::StrCat("the one-way ratio", of), link.one_way_ratio);
  CheckGroups(link, of, findings);
  CheckRamp(link, of, findings);
  if (link.switch_reduction.has_value()) {
    findings.Above(absl::StrCat("the group from which the switch reduces", of), 1,
                   static_cast<double>(link.switch_reduction->from_ranks));
    findings.Positive(absl::StrCat("the bus bandwidth by the switch", of), link.switch_reduction->bytes_per_second);
  }
}

void CheckLinks(const Cluster& cluster, Findings& findings) {
  constexpr double kMostDevices = 1 << 20;
  std::set<std::string> names;
  double before = 0, devices = 1;
  if (cluster.links.empty()) findings.Add("there is no link");
  for (const Link& link : cluster.links) {
    CheckLink(link, findings);
    if (!names.insert(link.name).second) findings.Add(absl::StrCat("two links have the name `", link.name, "`"));
    if (link.bytes_per_second < before) {
      findings.Add(absl::StrCat("link `", link.name, "` is slower than the one before it; the slowest comes first"));
    }
    before = link.bytes_per_second;
    devices *= static_cast<double>(link.count);
  }
  if (devices > kMostDevices) findings.Add("the number of devices", devices, "is more than 2^20");
}

void CheckEfficiency(const Cluster& cluster, Findings& findings) {
  double flops = -1, share = 0;
  for (const EfficiencyPoint& point : cluster.matrix_efficiency) {
    findings.Above("the size of a matrix efficiency", flops, point.flops.value());
    findings.Share("a matrix efficiency", point.share);
    if (point.share < share) findings.Add("a matrix efficiency", point.share, "is less than that of a smaller product");
    flops = point.flops.value();
    share = point.share;
  }
}

void CheckMemory(const Cluster& cluster, Findings& findings) {
  findings.Positive("the memory bandwidth", cluster.memory_bytes_per_second);
  findings.NotNegative("the input bandwidth", cluster.input_bytes_per_second);
  double bytes = 0, rate = std::numeric_limits<double>::infinity();
  for (const Cache& cache : cluster.caches) {
    findings.Above("the size of a cache", bytes, static_cast<double>(cache.bytes.value()));
    findings.Positive("the bandwidth of a cache", cache.bytes_per_second);
    if (cache.bytes_per_second > rate) {
      findings.Add("the bandwidth of a cache", cache.bytes_per_second, "is more than that of a smaller one");
    }
    bytes = static_cast<double>(cache.bytes.value());
    rate = cache.bytes_per_second;
  }
  if (cluster.memory_bytes_per_second > rate) {
    findings.Add("the memory bandwidth", cluster.memory_bytes_per_second, "is more than that of a cache");
  }
}

}  // namespace

std::vector<std::string> VerifyCluster(const Cluster& cluster) {
  Findings findings;
  CheckLinks(cluster, findings);
  findings.NotNegative("the memory", static_cast<double>(cluster.memory_per_device.value()));
  findings.Positive("the f32 peak", cluster.peak.f32);
  findings.NotNegative("the tf32 peak", cluster.peak.tf32);
  findings.NotNegative("the bf16 peak", cluster.peak.bf16);
  findings.NotNegative("the rate of loops", cluster.peak.loops);
  findings.NotNegative("the fp8 peak", cluster.peak.fp8);
  CheckEfficiency(cluster, findings);
  CheckMemory(cluster, findings);
  findings.NotNegative("the bandwidth to the host's memory", cluster.host_bytes_per_second);
  findings.NotNegative("the memory of a communicator", static_cast<double>(cluster.communicator.value()));
  findings.NotNegative("the kernel floor", cluster.kernel_floor.value());
  if (!std::isfinite(cluster.overlap_slowdown) || cluster.overlap_slowdown < 1) {
    findings.Add("the slowdown by overlap", cluster.overlap_slowdown, "is less than 1");
  }
  return findings.Take();
}

}  // namespace cleave::search
