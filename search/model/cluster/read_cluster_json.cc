// Reading guide: ParseClusterJson reads the text, MachinesOf the document: ReadDevice, LinksOf and ReadNetwork its
// parts, by one function for each kind of entry. CheckWhole checks the largest cluster that the file describes.
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/json/json.h"
#include "base/status/status_macros.h"
#include "search/model/cluster/cluster_json.h"
#include "search/model/cluster/presets.h"
#include "search/model/cluster/quantity.h"

namespace cleave::search {
namespace {

enum class Zero { kRefused, kAllowed };

absl::StatusOr<double> QuantityAt(const Json& object, const char* field, const std::string& where, QuantityKind kind,
                                  Zero zero) {
  const std::string place = absl::StrCat(where, ".", field);
  const Json& value = object.at(field);
  if (value.is_number()) return JsonError(place, absl::StrCat("the number ", value.dump(), " has no unit"));
  if (!value.is_string()) return JsonError(place, "expected a number with its unit, as a string");
  const absl::StatusOr<double> quantity = ParseQuantity(kind, value.get<std::string>());
  if (!quantity.ok()) return JsonError(place, std::string(quantity.status().message()));
  if (*quantity == 0 && zero == Zero::kRefused) return JsonError(place, "zero is not possible here");
  return *quantity;
}

// The same for a field that may be absent.
absl::StatusOr<double> QuantityOr(const Json& object, const char* field, const std::string& where, QuantityKind kind,
                                  double absent) {
  if (!object.contains(field)) return absent;
  return QuantityAt(object, field, where, kind, Zero::kAllowed);
}

absl::StatusOr<double> RateAt(const Json& object, const char* field, const std::string& where) {
  return QuantityAt(object, field, where, QuantityKind::kBytesPerSecond, Zero::kRefused);
}

absl::StatusOr<Bytes> BytesAt(const Json& object, const char* field, const std::string& where) {
  constexpr double kMost = 1e18;
  CLEAVE_ASSIGN_OR_RETURN(const double bytes, QuantityAt(object, field, where, QuantityKind::kBytes, Zero::kRefused));
  if (bytes > kMost) return JsonError(absl::StrCat(where, ".", field), "more than 1e18 bytes");
  return Bytes(static_cast<int64_t>(std::llround(bytes)));
}

// "links[0].groups[2]"
std::string EntryOf(const std::string& where, size_t index) { return absl::StrCat(where, "[", index, "]"); }

absl::Status CheckList(const Json& list, const std::string& where) {
  return list.is_array() && !list.empty() ? absl::OkStatus()
                                          : JsonError(where, "expected a list with at least one entry");
}

absl::StatusOr<std::vector<GroupRate>> GroupsOf(const Json& list, const std::string& where) {
  CLEAVE_RETURN_IF_ERROR(CheckList(list, where));
  std::vector<GroupRate> groups;
  for (const Json& entry : list) {
    const std::string place = EntryOf(where, groups.size());
    CLEAVE_RETURN_IF_ERROR(CheckFields(entry, place, {"ranks", "latency", "bus_bandwidth"}));
    GroupRate group;
    CLEAVE_ASSIGN_OR_RETURN(group.ranks, IntegerAt(entry, "ranks", place));
    CLEAVE_ASSIGN_OR_RETURN(const double latency,
                            QuantityAt(entry, "latency", place, QuantityKind::kSeconds, Zero::kAllowed));
    group.latency = Seconds(latency);
    CLEAVE_ASSIGN_OR_RETURN(group.bytes_per_second, RateAt(entry, "bus_bandwidth", place));
    groups.push_back(group);
  }
  return groups;
}

absl::StatusOr<Ramp> RampOf(const Json& json, const std::string& where) {
  CLEAVE_RETURN_IF_ERROR(CheckFields(json, where, {"ranks", "points"}));
  Ramp ramp;
  CLEAVE_ASSIGN_OR_RETURN(ramp.ranks, IntegerAt(json, "ranks", where));
  const std::string points = absl::StrCat(where, ".points");
  CLEAVE_RETURN_IF_ERROR(CheckList(json.at("points"), points));
  for (const Json& entry : json.at("points")) {
    const std::string place = EntryOf(points, ramp.points.size());
    CLEAVE_RETURN_IF_ERROR(CheckFields(entry, place, {"bytes", "bus_bandwidth"}));
    RampPoint point;
    CLEAVE_ASSIGN_OR_RETURN(point.bytes, BytesAt(entry, "bytes", place));
    CLEAVE_ASSIGN_OR_RETURN(point.bytes_per_second, RateAt(entry, "bus_bandwidth", place));
    ramp.points.push_back(point);
  }
  return ramp;
}

// Reads the fields that a link within a host and the network have in common.
absl::StatusOr<Link> LinkOf(const Json& json, const std::string& where, const std::set<std::string>& own_fields) {
  std::set<std::string> required = {"bandwidth", "latency"};
  required.insert(own_fields.begin(), own_fields.end());
  CLEAVE_RETURN_IF_ERROR(CheckFields(json, where, required,
                                     {"latency_per_doubling", "groups", "one_way_ratio", "ramp", "switch_reduction"}));
  Link link;
  CLEAVE_ASSIGN_OR_RETURN(link.bytes_per_second, RateAt(json, "bandwidth", where));
  CLEAVE_ASSIGN_OR_RETURN(const double latency,
                          QuantityAt(json, "latency", where, QuantityKind::kSeconds, Zero::kAllowed));
  link.latency = Seconds(latency);
  CLEAVE_ASSIGN_OR_RETURN(const double doubling,
                          QuantityOr(json, "latency_per_doubling", where, QuantityKind::kSeconds, 0));
  link.latency_per_doubling = Seconds(doubling);
  if (json.contains("groups")) {
    CLEAVE_ASSIGN_OR_RETURN(link.groups, GroupsOf(json.at("groups"), absl::StrCat(where, ".groups")));
  }
  if (json.contains("one_way_ratio")) {
    CLEAVE_ASSIGN_OR_RETURN(link.one_way_ratio, NumberAt(json, "one_way_ratio", where));
  }
  if (json.contains("ramp")) {
    CLEAVE_ASSIGN_OR_RETURN(link.ramp, RampOf(json.at("ramp"), absl::StrCat(where, ".ramp")));
  }
  if (json.contains("switch_reduction")) {
    const Json& reduction = json.at("switch_reduction");
    const std::string place = absl::StrCat(where, ".switch_reduction");
    CLEAVE_RETURN_IF_ERROR(CheckFields(reduction, place, {"from_ranks", "bus_bandwidth"}));
    link.switch_reduction.emplace();
    CLEAVE_ASSIGN_OR_RETURN(link.switch_reduction->from_ranks, IntegerAt(reduction, "from_ranks", place));
    CLEAVE_ASSIGN_OR_RETURN(link.switch_reduction->bytes_per_second, RateAt(reduction, "bus_bandwidth", place));
  }
  return link;
}

absl::StatusOr<std::vector<Link>> LinksOf(const Json& list) {
  CLEAVE_RETURN_IF_ERROR(CheckList(list, "links"));
  std::vector<Link> links;
  for (const Json& entry : list) {
    const std::string where = EntryOf("links", links.size());
    CLEAVE_ASSIGN_OR_RETURN(Link link, LinkOf(entry, where, {"name", "count"}));
    CLEAVE_ASSIGN_OR_RETURN(link.name, StringAt(entry, "name", where));
    CLEAVE_ASSIGN_OR_RETURN(link.count, IntegerAt(entry, "count", where));
    if (link.name == "network") return JsonError(where, "the link between hosts is given as \"network\" of the file");
    links.push_back(std::move(link));
  }
  return links;
}

absl::StatusOr<PeakRates> PeakOf(const Json& json, const std::string& where) {
  constexpr QuantityKind kKind = QuantityKind::kFlopsPerSecond;
  CLEAVE_RETURN_IF_ERROR(CheckFields(json, where, {"f32"}, {"tf32", "bf16", "fp8", "loops"}));
  PeakRates peak;
  CLEAVE_ASSIGN_OR_RETURN(peak.f32, QuantityAt(json, "f32", where, kKind, Zero::kRefused));
  CLEAVE_ASSIGN_OR_RETURN(peak.tf32, QuantityOr(json, "tf32", where, kKind, 0));
  CLEAVE_ASSIGN_OR_RETURN(peak.bf16, QuantityOr(json, "bf16", where, kKind, 0));
  CLEAVE_ASSIGN_OR_RETURN(peak.fp8, QuantityOr(json, "fp8", where, kKind, 0));
  CLEAVE_ASSIGN_OR_RETURN(peak.loops, QuantityOr(json, "loops", where, kKind, 0));
  return peak;
}

absl::StatusOr<std::vector<EfficiencyPoint>> EfficiencyOf(const Json& list, const std::string& where) {
  CLEAVE_RETURN_IF_ERROR(CheckList(list, where));
  std::vector<EfficiencyPoint> points;
  for (const Json& entry : list) {
    const std::string place = EntryOf(where, points.size());
    CLEAVE_RETURN_IF_ERROR(CheckFields(entry, place, {"flops", "share"}));
    CLEAVE_ASSIGN_OR_RETURN(const double flops,
                            QuantityAt(entry, "flops", place, QuantityKind::kFlops, Zero::kAllowed));
    CLEAVE_ASSIGN_OR_RETURN(const double share, NumberAt(entry, "share", place));
    points.push_back({.flops = Flops(flops), .share = share});
  }
  return points;
}

absl::StatusOr<std::vector<Cache>> CachesOf(const Json& list, const std::string& where) {
  CLEAVE_RETURN_IF_ERROR(CheckList(list, where));
  std::vector<Cache> caches;
  for (const Json& entry : list) {
    const std::string place = EntryOf(where, caches.size());
    CLEAVE_RETURN_IF_ERROR(CheckFields(entry, place, {"bytes", "bandwidth"}));
    Cache cache;
    CLEAVE_ASSIGN_OR_RETURN(cache.bytes, BytesAt(entry, "bytes", place));
    CLEAVE_ASSIGN_OR_RETURN(cache.bytes_per_second, RateAt(entry, "bandwidth", place));
    caches.push_back(cache);
  }
  return caches;
}

absl::Status ReadDevice(const Json& json, Cluster& cluster) {
  const std::string where = "device";
  CLEAVE_RETURN_IF_ERROR(CheckFields(json, where, {"peak", "memory_bandwidth"},
                                     {"memory", "caches", "input_bandwidth", "host_bandwidth", "matrix_efficiency",
                                      "kernel_floor", "communicator", "overlap_slowdown"}));
  CLEAVE_ASSIGN_OR_RETURN(cluster.peak, PeakOf(json.at("peak"), "device.peak"));
  CLEAVE_ASSIGN_OR_RETURN(cluster.memory_bytes_per_second, RateAt(json, "memory_bandwidth", where));
  if (json.contains("memory")) {
    CLEAVE_ASSIGN_OR_RETURN(cluster.memory_per_device, BytesAt(json, "memory", where));
  }
  if (json.contains("caches")) {
    CLEAVE_ASSIGN_OR_RETURN(cluster.caches, CachesOf(json.at("caches"), "device.caches"));
  }
  if (json.contains("input_bandwidth")) {
    CLEAVE_ASSIGN_OR_RETURN(cluster.input_bytes_per_second, RateAt(json, "input_bandwidth", where));
  }
  if (json.contains("host_bandwidth")) {
    CLEAVE_ASSIGN_OR_RETURN(cluster.host_bytes_per_second, RateAt(json, "host_bandwidth", where));
  }
  if (json.contains("matrix_efficiency")) {
    CLEAVE_ASSIGN_OR_RETURN(cluster.matrix_efficiency,
                            EfficiencyOf(json.at("matrix_efficiency"), "device.matrix_efficiency"));
  }
  CLEAVE_ASSIGN_OR_RETURN(const double floor, QuantityOr(json, "kernel_floor", where, QuantityKind::kSeconds, 0));
  cluster.kernel_floor = Seconds(floor);
  if (json.contains("communicator")) {
    CLEAVE_ASSIGN_OR_RETURN(cluster.communicator, BytesAt(json, "communicator", where));
  }
  if (json.contains("overlap_slowdown")) {
    CLEAVE_ASSIGN_OR_RETURN(cluster.overlap_slowdown, NumberAt(json, "overlap_slowdown", where));
  }
  return absl::OkStatus();
}

// The number of hosts.
absl::StatusOr<int64_t> HostsOf(const Json& list) {
  CLEAVE_RETURN_IF_ERROR(CheckList(list, "hosts"));
  std::set<std::string> names;
  for (const Json& entry : list) {
    if (!entry.is_string()) return JsonError("hosts", "expected the names of hosts");
    if (!names.insert(entry.get<std::string>()).second) {
      return JsonError("hosts", absl::StrCat("the host \"", entry.get<std::string>(), "\" is given twice"));
    }
  }
  return static_cast<int64_t>(names.size());
}

absl::Status ReadNetwork(const Json& document, Machines& machines) {
  const bool is_given = document.contains("network");
  if (machines.hosts > 1 && !is_given) return JsonError("cluster", "there are several hosts, but no \"network\"");
  if (machines.hosts == 1 && is_given) return JsonError("network", "there is one host, which has no network to cross");
  if (!is_given) return absl::OkStatus();
  CLEAVE_ASSIGN_OR_RETURN(machines.network, LinkOf(document.at("network"), "network", {}));
  machines.network.name = "network";
  return absl::OkStatus();
}

// The value at a place of the document, "links[0].groups[1]"; null where there is none.
const Json* ValueAt(const Json& document, absl::string_view place) {
  const Json* value = &document;
  for (const absl::string_view step : absl::StrSplit(place, '.')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(step, '[');
    if (!value->is_object() || !value->contains(std::string(parts[0]))) return nullptr;
    value = &value->at(std::string(parts[0]));
    for (size_t i = 1; i < parts.size(); ++i) {
      size_t index = 0;
      const bool is_index = absl::EndsWith(parts[i], "]") && absl::SimpleAtoi(absl::StripSuffix(parts[i], "]"), &index);
      if (!is_index || !value->is_array() || index >= value->size()) return nullptr;
      value = &value->at(index);
    }
  }
  return value;
}

absl::Status CheckComments(const Json& document) {
  if (!document.contains("comments")) return absl::OkStatus();
  const Json& comments = document.at("comments");
  if (!comments.is_object()) return JsonError("comments", "expected an object");
  for (const auto& [place, comment] : comments.items()) {
    if (!comment.is_string()) return JsonError("comments", absl::StrCat("expected a text about \"", place, "\""));
    if (ValueAt(document, place) == nullptr) {
      return JsonError("comments", absl::StrCat("there is no \"", place, "\" in this file"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckName(const std::string& name) {
  if (name.empty()) return JsonError("name", "expected a name");
  if (FindPreset(name).has_value())
    return JsonError("name", absl::StrCat("`", name, "` is a preset; take another name"));
  return absl::OkStatus();
}

// Checks what must hold for every cluster, for the largest one that the file describes.
absl::Status CheckWhole(const Machines& machines) {
  const std::vector<std::string> of_host = VerifyCluster(machines.host);
  if (!of_host.empty()) return JsonError("cluster", of_host.front());
  const std::optional<Cluster> whole = ClusterOf(machines, machines.devices());
  const std::vector<std::string> of_all = VerifyCluster(*whole);
  return of_all.empty() ? absl::OkStatus() : JsonError("cluster", of_all.front());
}

absl::StatusOr<Machines> MachinesOf(const Json& document) {
  CLEAVE_RETURN_IF_ERROR(CheckFields(document, "cluster", {"format", "version", "name", "device", "links"},
                                     {"hosts", "network", "comments"}));
  CLEAVE_ASSIGN_OR_RETURN(const std::string format, StringAt(document, "format", "cluster"));
  if (format != "cleave-cluster") {
    return JsonError("cluster.format", absl::StrCat("expected \"cleave-cluster\", found \"", format, "\""));
  }
  CLEAVE_ASSIGN_OR_RETURN(const int64_t version, IntegerAt(document, "version", "cluster"));
  if (version != 1) return JsonError("cluster.version", absl::StrCat("this version reads 1, found ", version));
  Machines machines;
  machines.hosts = 1;
  CLEAVE_ASSIGN_OR_RETURN(machines.host.name, StringAt(document, "name", "cluster"));
  CLEAVE_RETURN_IF_ERROR(CheckName(machines.host.name));
  CLEAVE_RETURN_IF_ERROR(ReadDevice(document.at("device"), machines.host));
  CLEAVE_ASSIGN_OR_RETURN(machines.host.links, LinksOf(document.at("links")));
  if (document.contains("hosts")) {
    CLEAVE_ASSIGN_OR_RETURN(machines.hosts, HostsOf(document.at("hosts")));
  }
  CLEAVE_RETURN_IF_ERROR(ReadNetwork(document, machines));
  CLEAVE_RETURN_IF_ERROR(CheckComments(document));
  CLEAVE_RETURN_IF_ERROR(CheckWhole(machines));
  return machines;
}

}  // namespace

absl::StatusOr<Machines> ParseClusterJson(absl::string_view text) {
  CLEAVE_ASSIGN_OR_RETURN(const Json document, ParseStrictJson(text));
  absl::StatusOr<Machines> machines = MachinesOf(document);
  if (!machines.ok()) return WithPlace(machines.status(), text);
  return machines;
}

}  // namespace cleave::search
