#include "tools/driver/rank_files.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "ir/program/alike_ranks.h"
#include "ir/program/text.h"

namespace cleave::tools {
namespace {

// "0-3, 8"; `ranks` ascend.
std::string RangesText(const std::vector<int>& ranks) {
  std::string text;
  for (size_t begin = 0; begin < ranks.size();) {
    size_t last = begin;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    absl::StrAppend(&text, begin > 0 ? ", " : "", ranks[begin]);
    if (last > begin) absl::StrAppend(&text, "-", ranks[last]);
    begin = last + 1;
  }
  return text;
}

// The ranks that share a folder, by the lowest of them.
std::map<int, std::vector<int>> Folders(const ir::Program& program) {
  const int ranks = ir::RankMesh(program).rank_count();
  const bool shared = ranks > kMostOwnFolders;
  const std::vector<int> lowest = shared ? ir::LowestAlikeRanks(program) : std::vector<int>();
  std::map<int, std::vector<int>> folders;
  for (int rank = 0; rank < ranks; ++rank) {
    folders[shared ? lowest[static_cast<size_t>(rank)] : rank].push_back(rank);
  }
  return folders;
}

}  // namespace

std::string TextOfRank(const ir::LoweredProgram& split, int rank) {
  const ir::Program& program = split.program;
  if (!program.pipeline.has_value()) return ir::ProgramText(program, rank);
  const int64_t part = ir::RankMesh(program).Index(rank, {program.pipeline->axis});
  return ir::ProgramText(split.parts[static_cast<size_t>(part)].program, rank);
}

std::vector<OutputFile> RankFiles(const std::string& graph, const ir::LoweredProgram& split) {
  const ir::Program& program = split.program;
  constexpr size_t kMostFolders = 256;  // A million texts would be gigabytes.
  const std::map<int, std::vector<int>> folders = Folders(program);
  std::vector<OutputFile> files;
  std::string shared;
  for (const auto& [rank, members] : folders) {
    absl::StrAppend(&shared, "rank_", rank, ": ", RangesText(members), "\n");
    if (files.size() >= 2 * kMostFolders) continue;
    files.push_back({.path = absl::StrCat("rank_", rank, "/graph.ir"), .text = graph});
    files.push_back({.path = absl::StrCat("rank_", rank, "/program.ir"), .text = TextOfRank(split, rank)});
  }
  if (ir::RankMesh(program).rank_count() > kMostOwnFolders) files.push_back({.path = "ranks.txt", .text = shared});
  return files;
}

}  // namespace cleave::tools
