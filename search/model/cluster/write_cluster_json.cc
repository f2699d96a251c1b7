#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/json/json.h"
#include "search/model/cluster/cluster_json.h"
#include "search/model/cluster/quantity.h"

namespace cleave::search {
namespace {

std::string Rate(double value) { return FormatQuantity(QuantityKind::kBytesPerSecond, value); }
std::string Time(Seconds value) { return FormatQuantity(QuantityKind::kSeconds, value.value()); }
std::string Size(Bytes value) { return absl::StrCat(value.value(), "B"); }  // Exact.
std::string Peak(double value) { return FormatQuantity(QuantityKind::kFlopsPerSecond, value); }

double Ratio(double value) { return std::strtod(absl::StrFormat("%.6g", value).c_str(), nullptr); }

Json RampJson(const Ramp& ramp) {
  Json points = Json::array();
  for (const RampPoint& point : ramp.points) {
    points.push_back({{"bytes", Size(point.bytes)}, {"bus_bandwidth", Rate(point.bytes_per_second)}});
  }
  return {{"ranks", ramp.ranks}, {"points", points}};
}

// Adds what a link within a host and the network have in common.
Json WithRates(Json json, const Link& link) {
  json["bandwidth"] = Rate(link.bytes_per_second);
  json["latency"] = Time(link.latency);
  if (link.latency_per_doubling > Seconds(0)) json["latency_per_doubling"] = Time(link.latency_per_doubling);
  for (const GroupRate& group : link.groups) {
    json["groups"].push_back(
        {{"ranks", group.ranks}, {"latency", Time(group.latency)}, {"bus_bandwidth", Rate(group.bytes_per_second)}});
  }
  if (link.one_way_ratio != 1) json["one_way_ratio"] = Ratio(link.one_way_ratio);
  if (!link.ramp.points.empty()) json["ramp"] = RampJson(link.ramp);
  if (link.switch_reduction.has_value()) {
    json["switch_reduction"] = {{"from_ranks", link.switch_reduction->from_ranks},
                                {"bus_bandwidth", Rate(link.switch_reduction->bytes_per_second)}};
  }
  return json;
}

Json DeviceJson(const Cluster& cluster) {
  Json json = {{"peak", {{"f32", Peak(cluster.peak.f32)}}},
               {"memory_bandwidth", Rate(cluster.memory_bytes_per_second)},
               {"kernel_floor", Time(cluster.kernel_floor)},
               {"overlap_slowdown", Ratio(cluster.overlap_slowdown)}};
  if (cluster.peak.tf32 > 0) json["peak"]["tf32"] = Peak(cluster.peak.tf32);
  if (cluster.peak.bf16 > 0) json["peak"]["bf16"] = Peak(cluster.peak.bf16);
  if (cluster.peak.loops > 0) json["peak"]["loops"] = Peak(cluster.peak.loops);
  if (cluster.peak.fp8 > 0) json["peak"]["fp8"] = Peak(cluster.peak.fp8);
  if (cluster.memory_per_device > Bytes(0)) json["memory"] = Size(cluster.memory_per_device);
  if (cluster.communicator > Bytes(0)) json["communicator"] = Size(cluster.communicator);
  for (const Cache& cache : cluster.caches) {
    json["caches"].push_back({{"bytes", Size(cache.bytes)}, {"bandwidth", Rate(cache.bytes_per_second)}});
  }
  if (cluster.input_bytes_per_second > 0) json["input_bandwidth"] = Rate(cluster.input_bytes_per_second);
  if (cluster.host_bytes_per_second > 0) json["host_bandwidth"] = Rate(cluster.host_bytes_per_second);
  for (const EfficiencyPoint& point : cluster.matrix_efficiency) {
    json["matrix_efficiency"].push_back(
        {{"flops", FormatQuantity(QuantityKind::kFlops, point.flops.value())}, {"share", Ratio(point.share)}});
  }
  return json;
}

}  // namespace

std::string ClusterJson(const Machines& machines, const ClusterNotes& notes) {
  const Cluster& host = machines.host;
  Json document = {{"format", "cleave-cluster"}, {"version", 1}, {"name", host.name}};
  if (machines.hosts > 1 || !notes.hosts.empty()) document["hosts"] = notes.hosts;
  for (int64_t i = 1; notes.hosts.empty() && machines.hosts > 1 && i <= machines.hosts; ++i) {
    document["hosts"].push_back(absl::StrCat("host", i));
  }
  document["device"] = DeviceJson(host);
  document["links"] = Json::array();
  for (const Link& link : host.links) {
    document["links"].push_back(WithRates({{"name", link.name}, {"count", link.count}}, link));
  }
  if (machines.hosts > 1) document["network"] = WithRates(Json::object(), machines.network);
  for (const auto& [place, comment] : notes.comments) document["comments"][place] = comment;
  return JsonDocument(document);
}

}  // namespace cleave::search
