// Private to tools/calibrate: the hosts that a user names.
#ifndef CLEAVE_TOOLS_CALIBRATE_HOSTS_H_
#define CLEAVE_TOOLS_CALIBRATE_HOSTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/codegen.h"

namespace cleave::tools {

// Of a file of hosts as Open MPI reads it: "node1 slots=4" a line, `#` before a remark, one slot where none is said.
// An InvalidArgument error where a line is something else, a host occurs twice, or hosts have different numbers of
// slots.
absl::StatusOr<codegen::HostsToMeasure> ParseHosts(absl::string_view text);

// Of a rank table (docs/launch.md), whose ranks must follow each other on each host. Errors as above.
absl::StatusOr<codegen::HostsToMeasure> ReadTableOfHosts(const std::string& path);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_CALIBRATE_HOSTS_H_
