// Machines known by name: "cpu", "h100x8", and with a number of hosts "cpu*2", "h100x8*4".
#ifndef CLEAVE_SEARCH_MODEL_CLUSTER_PRESETS_H_
#define CLEAVE_SEARCH_MODEL_CLUSTER_PRESETS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "search/model/cluster/machines.h"

namespace cleave::search {

// Without a number of hosts: "cpu", "v100x8", …
std::vector<std::string> PresetNames();

// nullopt for an unknown name, or a number of hosts that is not from 1 to 65536. The host's name is `name`.
std::optional<Machines> FindPreset(absl::string_view name);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_CLUSTER_PRESETS_H_
