// The text forms of graph and program that a compile writes for the ranks. Private to tools/driver.
#ifndef CLEAVE_TOOLS_DRIVER_RANK_FILES_H_
#define CLEAVE_TOOLS_DRIVER_RANK_FILES_H_

#include <string>
#include <vector>

#include "search/knobs/memory/memory.h"
#include "tools/driver/output.h"

namespace cleave::tools {

// Of more ranks than this, those with the same local shapes share the folder of the lowest, and ranks.txt says which
// these are.
constexpr int kMostOwnFolders = 64;

// rank_N/graph.ir (`graph`, the same for all) and rank_N/program.ir.
std::vector<OutputFile> RankFiles(const std::string& graph, const ir::LoweredProgram& split);

// What the rank runs, of a pipeline the steps of its stage.
std::string TextOfRank(const ir::LoweredProgram& split, int rank);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_RANK_FILES_H_
