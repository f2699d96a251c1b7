// Private to runtime/placement: Slurm's way to write the names of many hosts.
#ifndef CLEAVE_RUNTIME_PLACEMENT_NODE_LIST_H_
#define CLEAVE_RUNTIME_PLACEMENT_NODE_LIST_H_

#include <optional>
#include <string>
#include <vector>

namespace cleave::runtime {

// "node[01-03,7],login" -> node01 node02 node03 node7 login: in the order of the text; a name may have several
// brackets. nullopt where `text` is not such a list, or one of more than 2^20 names.
std::optional<std::vector<std::string>> ExpandNodeList(const std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_PLACEMENT_NODE_LIST_H_
