#include <string>

#include "absl/strings/str_cat.h"
#include "base/json/json.h"
#include "search/model/cluster/cluster_json.h"
#include "search/model/cluster/quantity.h"

namespace cleave::search {
namespace {

std::string Rate(double value) { return FormatQuantity(QuantityKind::kBytesPerSecond, value); }
std::string Time(Seconds value) { return FormatQuantity(QuantityKind::kSeconds, value.value()); }
std::string Size(Bytes value) { return absl::StrCat(value.value(), "B"); }  // Exact.
std::string Peak(double value) { return FormatQuantity(QuantityKind::kFlopsPerSecond, value); }

Json RampJson(const Ramp& ramp) {
  Json points = Json::array();
  for (const RampPoint& point : ramp.points) {
    points.push_back({{"bytes", Size(point.bytes)}, {"bus_bandwidth", Rate(point.bytes_per_second)}});
  }
  return {{"ranks", ramp.ranks}, {"points", points}};
}

Json LinkJson(const Link& link) {
  Json json = {{"name", link.name},
               {"count", link.count},
               {"bandwidth", Rate(link.bytes_per_second)},
               {"latency", Time(link.latency)}};
  if (link.latency_per_doubling > Seconds(0)) json["latency_per_doubling"] = Time(link.latency_per_doubling);
  for (const GroupRate& group : link.groups) {
    json["groups"].push_back(
        {{"ranks", group.ranks}, {"latency", Time(group.latency)}, {"bus_bandwidth", Rate(group.bytes_per_second)}});
  }
  if (link.one_way_ratio != 1) json["one_way_ratio"] = link.one_way_ratio;
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
               {"overlap_slowdown", cluster.overlap_slowdown}};
  if (cluster.peak.tf32 > 0) json["peak"]["tf32"] = Peak(cluster.peak.tf32);
  if (cluster.peak.bf16 > 0) json["peak"]["bf16"] = Peak(cluster.peak.bf16);
  if (cluster.memory_per_device > Bytes(0)) json["memory"] = Size(cluster.memory_per_device);
  for (const Cache& cache : cluster.caches) {
    json["caches"].push_back({{"bytes", Size(cache.bytes)}, {"bandwidth", Rate(cache.bytes_per_second)}});
  }
  if (cluster.input_bytes_per_second > 0) json["input_bandwidth"] = Rate(cluster.input_bytes_per_second);
  if (cluster.host_bytes_per_second > 0) json["host_bandwidth"] = Rate(cluster.host_bytes_per_second);
  for (const EfficiencyPoint& point : cluster.matrix_efficiency) {
    json["matrix_efficiency"].push_back(
        {{"flops", FormatQuantity(QuantityKind::kFlops, point.flops.value())}, {"share", point.share}});
  }
  return json;
}

}  // namespace

std::string ClusterJson(const Cluster& host) {
  Json links = Json::array();
  for (const Link& link : host.links) links.push_back(LinkJson(link));
  const Json document = {{"format", "cleave-cluster"},
                         {"version", 1},
                         {"name", host.name},
                         {"device", DeviceJson(host)},
                         {"links", links}};
  return JsonDocument(document);
}

}  // namespace cleave::search
