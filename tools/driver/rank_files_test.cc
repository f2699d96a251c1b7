#include "tools/driver/rank_files.h"

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/program/partition/partition.h"
#include "ir/program/text.h"
#include "ir/testing/graphs.h"
#include "ir/testing/plans.h"

namespace cleave::tools {
namespace {

ir::Program DataParallelProgram(int64_t devices) {
  const ir::Graph graph = ir::TestMlp();
  return *ir::Partition(graph, ir::DataParallelPlan(graph, ir::Mesh::OfDevices(devices)));
}

std::map<std::string, std::string> ByPath(const ir::Program& program) {
  std::map<std::string, std::string> files;
  for (const OutputFile& file : RankFiles("a graph", {.distributed = {}, .program = program, .memory = {}}))
    files.emplace(file.path, file.text);
  return files;
}

TEST(RankFilesTest, FewRanksHaveAFolderEach) {
  const ir::Program program = DataParallelProgram(4);
  const std::map<std::string, std::string> files = ByPath(program);
  EXPECT_EQ(files.size(), 8u);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(files.at(absl::StrCat("rank_", rank, "/program.ir")), ir::ProgramText(program, rank));
    EXPECT_EQ(files.at(absl::StrCat("rank_", rank, "/graph.ir")), "a graph");
  }
}

TEST(RankFilesTest, ManyRanksWithEqualShapesShareOne) {
  const ir::Program program = DataParallelProgram(128);
  const std::map<std::string, std::string> files = ByPath(program);
  const std::string& folders = files.at("ranks.txt");
  EXPECT_TRUE(absl::StartsWith(folders, "rank_0: 0")) << folders;
  EXPECT_LT(files.size(), 20u) << folders;
  EXPECT_EQ(files.at("rank_0/program.ir"), ir::ProgramText(program, 0));
  EXPECT_EQ(files.at("rank_0/graph.ir"), "a graph");
}

}  // namespace
}  // namespace cleave::tools
