// Cluster files (docs/formats/cluster.md): hosts of one kind, what a device can do, and the links, as JSON.
//
//   CLEAVE_ASSIGN_OR_RETURN(Machines machines, ParseClusterJson(text));
#ifndef CLEAVE_SEARCH_MODEL_CLUSTER_CLUSTER_JSON_H_
#define CLEAVE_SEARCH_MODEL_CLUSTER_CLUSTER_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "search/model/cluster/cluster.h"
#include "search/model/cluster/machines.h"

namespace cleave::search {

// An InvalidArgument error says where in the text something is wrong: broken JSON, a key twice, an unknown or missing
// field, a quantity without its unit, a rate that is zero or not a number, a host twice, links out of order, a name
// that presets have. What comes back passes VerifyCluster.
absl::StatusOr<Machines> ParseClusterJson(absl::string_view text);

// The file of one host, quantities with six digits; ends with a newline. REQUIRES: VerifyCluster finds no error.
std::string ClusterJson(const Cluster& host);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_CLUSTER_CLUSTER_JSON_H_
