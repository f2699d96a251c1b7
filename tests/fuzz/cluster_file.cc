// A cluster file: it is refused, or clusters and meshes can be made of it, and it can be written and read again.
#include <optional>
#include <string>

#include "base/check/check.h"
#include "search/model/cluster/cluster.h"
#include "search/model/cluster/cluster_json.h"
#include "search/model/cluster/machines.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  const auto machines = search::ParseClusterJson(tests::fuzz::Text(data, size));
  if (!machines.ok()) {
    CLEAVE_CHECK(absl::IsInvalidArgument(machines.status()) && !machines.status().message().empty());
    return 0;
  }
  constexpr int64_t kMostDevices = int64_t{1} << 20;
  for (const int64_t devices : {int64_t{1}, int64_t{2}, int64_t{6}, int64_t{16}, machines->devices(), kMostDevices}) {
    const auto cluster = search::ClusterOf(*machines, devices);
    if (!cluster.has_value()) {
      search::NearestDevices(*machines, devices);
      continue;
    }
    CLEAVE_CHECK(cluster->devices() == devices);
    for (const std::string& error : search::VerifyCluster(*cluster)) CLEAVE_CHECK(false) << error;
    if (devices <= kMostDevices) CLEAVE_CHECK(search::MeshOfCluster(*cluster).rank_count() == devices);
  }
  const std::string written = search::ClusterJson(*machines);
  const auto again = search::ParseClusterJson(written);
  CLEAVE_CHECK(again.ok()) << again.status().message() << "\n" << written;
  CLEAVE_CHECK(search::ClusterJson(*again) == written) << written;
  return 0;
}
