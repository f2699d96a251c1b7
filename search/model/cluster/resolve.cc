#include "search/model/cluster/resolve.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "search/model/cluster/cluster_json.h"
#include "search/model/cluster/presets.h"

namespace cleave::search {
namespace {

Diagnostic UnknownCluster(const std::string& name) {
  const std::vector<std::string> presets = PresetNames();
  Diagnostic error = Error(Code::kE0606, absl::StrCat("unknown cluster `", name, "`"))
                         .Note(absl::StrCat("presets are ", QuotedList(presets, "and"),
                                            ", with a number of hosts as in `", presets.back(), "*4`"));
  const size_t star = name.find('*');
  if (const auto nearest = NearestName(name.substr(0, star), presets); nearest.has_value()) {
    const std::string hosts = star == std::string::npos || *nearest == name.substr(0, star) ? "" : name.substr(star);
    error.help.push_back(absl::StrCat("did you mean `--cluster ", *nearest, hosts, "`?"));
  } else {
    error.help.push_back("take a preset, or name a file: `--cluster FILE.json`");
  }
  return error;
}

constexpr int64_t kMostFileBytes = int64_t{16} << 20;

std::optional<Machines> ReadClusterFile(const std::string& path, Diagnostics& diagnostics) {
  const absl::StatusOr<std::string> text =
      ReadFile(path, {.what = "cluster file", .most_bytes = kMostFileBytes, .pipes = Pipes::kRead});
  if (!text.ok()) {
    diagnostics.Add(Error(Code::kE0607, std::string(text.status().message())));
    return std::nullopt;
  }
  absl::StatusOr<Machines> machines = ParseClusterJson(*text);
  if (machines.ok()) return *std::move(machines);
  diagnostics.Add(Error(Code::kE0607, absl::StrCat("the cluster file `", path, "` cannot be used"))
                      .Note(std::string(machines.status().message())));
  return std::nullopt;
}

int64_t DevicesOf(const ClusterRequest& request, const Machines& machines) {
  const DeviceCounts counts = CountDevices(request, machines);
  return counts.given.value_or(request.model_devices.value_or(counts.otherwise));
}

Diagnostic WrongDevices(const ClusterRequest& request, const Machines& machines) {
  const int64_t devices = DevicesOf(request, machines);
  Diagnostic error =
      Error(Code::kE0608, absl::StrCat("cluster `", request.name_or_path, "` cannot be ", Plural(devices, "device")));
  if (!request.devices.has_value()) std::move(error).At(request.model_span, "asked for here");
  std::string most;
  if (machines.hosts > 0 && !machines.any_devices) most = absl::StrCat(", ", machines.devices(), " in all");
  error.notes.push_back(machines.any_devices ? absl::StrCat("it has ", Plural(machines.hosts, "host"), " of equal size")
                                             : absl::StrCat("it is part of a host, or whole hosts of ",
                                                            Plural(machines.host.devices(), "device"), most));
  const std::vector<int64_t> nearest = NearestDevices(machines, devices);
  error.help.push_back(absl::StrCat("nearest: ", absl::StrJoin(nearest, " or ", [](std::string* out, int64_t count) {
                                      absl::StrAppend(out, "`--devices ", count, "`");
                                    })));
  return error;
}

}  // namespace

std::optional<Machines> FindMachines(const std::string& name_or_path, Diagnostics& diagnostics) {
  if (std::optional<Machines> preset = FindPreset(name_or_path)) return preset;
  if (name_or_path.find_first_of("/.") != std::string::npos) return ReadClusterFile(name_or_path, diagnostics);
  diagnostics.Add(UnknownCluster(name_or_path));
  return std::nullopt;
}

DeviceCounts CountDevices(const ClusterRequest& request, const Machines& machines) {
  DeviceCounts counts{.given = request.devices, .otherwise = machines.devices()};
  // Files, and presets with a number of hosts, say how many devices there are, except for hosts of any size.
  if (!counts.given.has_value() && machines.hosts > 0 && !machines.any_devices) counts.given = machines.devices();
  return counts;
}

std::optional<Cluster> ResolveCluster(const ClusterRequest& request, const Machines& machines,
                                      Diagnostics& diagnostics) {
  std::optional<Cluster> cluster = ClusterOf(machines, DevicesOf(request, machines));
  if (!cluster.has_value()) diagnostics.Add(WrongDevices(request, machines));
  return cluster;
}

}  // namespace cleave::search
