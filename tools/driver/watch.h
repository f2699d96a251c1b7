// `--watch PATTERN`: values that are looked at without a word in the model.
#ifndef CLEAVE_TOOLS_DRIVER_WATCH_H_
#define CLEAVE_TOOLS_DRIVER_WATCH_H_

#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"

namespace cleave::tools {

// E0610 for an option whose `word` matches none of `names`, with those that are like it.
Diagnostic NothingMatches(const std::string& option, const std::string& word, const std::vector<std::string>& names);

// Watches every value of `graph` that a pattern describes, in program order. Constants, and numbers that differ from
// step to step, are no values of the model. Returns false, and reports E0610, where a pattern describes none.
bool WatchValues(const std::vector<std::string>& patterns, ir::Graph& graph, Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_WATCH_H_
