// Cluster files (docs/formats/cluster.md): hosts of one kind, what a device can do, and the links, as JSON.
//
//   CLEAVE_ASSIGN_OR_RETURN(Machines machines, ParseClusterJson(text));
#ifndef CLEAVE_SEARCH_MODEL_CLUSTER_CLUSTER_JSON_H_
#define CLEAVE_SEARCH_MODEL_CLUSTER_CLUSTER_JSON_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "search/model/cluster/cluster.h"
#include "search/model/cluster/machines.h"

namespace cleave::search {

// An InvalidArgument error says where in the text something is wrong: broken JSON, a key twice, an unknown or missing
// field, a quantity without its unit, a rate that is zero or not a number, a host twice, links out of order, a name
// that presets have, a comment on nothing. What comes back passes VerifyCluster.
absl::StatusOr<Machines> ParseClusterJson(absl::string_view text);

// What a file says beside the machines.
struct ClusterNotes {
  std::vector<std::string> hosts = {};  // Their names; empty: "host1", "host2", …
  // Places in the file, "device.peak.f32", and a remark on each.
  std::vector<std::pair<std::string, std::string>> comments = {};
};

// The file of these machines, of one host where their number has no limit; quantities with six digits, a newline at the
// end. REQUIRES: VerifyCluster finds no error in the cluster of all devices; hosts have names, or none has.
std::string ClusterJson(const Machines& machines, const ClusterNotes& notes = {});

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_CLUSTER_CLUSTER_JSON_H_
