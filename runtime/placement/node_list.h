// Private to runtime/placement: Slurm's way to write the names of many hosts.
#ifndef CLEAVE_RUNTIME_PLACEMENT_NODE_LIST_H_
#define CLEAVE_RUNTIME_PLACEMENT_NODE_LIST_H_

#include <optional>
#include <string>

namespace cleave::runtime {

// The first host of a list: that of "node[01-03,7],login" is node01, and a name may have several brackets. nullopt
// where `text` is not such a list.
std::optional<std::string> FirstNode(const std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_PLACEMENT_NODE_LIST_H_
