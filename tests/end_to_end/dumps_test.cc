// The program of each rank as text: it is written with every program and printed on demand, whichever search made the
// plan.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

struct Mode {
  std::string model;
  std::vector<std::string> arguments;
  int ranks = 2;
};

std::vector<std::string> Command(const Mode& mode, const std::vector<std::string>& more) {
  std::vector<std::string> command = {DataPath(mode.model)};
  command.insert(command.end(), mode.arguments.begin(), mode.arguments.end());
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

// Lines of ops: all except the first one and those after the closing brace.
std::vector<std::string> OpLines(const std::string& text) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "  %")) lines.emplace_back(line);
  }
  return lines;
}

void CheckGraph(const std::string& text) {
  ASSERT_TRUE(absl::StartsWith(text, "graph ")) << text.substr(0, 100);
  for (const std::string& line : OpLines(text)) {
    // An op without inputs has no strategy per input.
    const bool has_inputs = absl::StrContains(line.substr(0, line.find(") {")), "(%");
    EXPECT_EQ(absl::StrContains(line, " in_strategy("), has_inputs) << line;
  }
}

void CheckProgram(const std::string& text, int rank, int ranks) {
  ASSERT_TRUE(absl::StartsWith(text, "program ")) << text.substr(0, 100);
  const std::string head = text.substr(0, text.find('\n'));
  EXPECT_TRUE(absl::StrContains(head, absl::StrCat(" rank ", rank, " "))) << head;
  for (const std::string& line : OpLines(text)) {
    const size_t begin = line.find("ranks = (");
    if (begin == std::string::npos) continue;
    const std::string list = line.substr(begin + 9, line.find(')', begin) - begin - 9);
    std::set<std::string> members = absl::StrSplit(list, ", ");
    EXPECT_TRUE(members.count(absl::StrCat(rank)) == 1) << "the rank is in its own group: " << line;
    EXPECT_GE(members.size(), 2u) << line;
    EXPECT_LE(members.size(), static_cast<size_t>(ranks)) << line;
  }
}

TEST(Dumps, OfEveryMode) {
  const std::string view = "examples/global_view/columns_rows.model";
  const std::vector<Mode> modes = {{view, {}},
                                   {view, {"--search", "sapp"}},
                                   {view, {"--search", "exact"}},
                                   {view, {"--search", "replicate"}},
                                   {"examples/global_view/data_parallel.model", {}},
                                   {"examples/sapp_mlp/sapp_mlp.model", {"--devices", "3"}, 3},
                                   {"examples/tiny_gpt/tiny_gpt.model", {"--devices", "4"}, 4},
                                   {"examples/regions/regions.model", {}, 8},
                                   {"examples/manual_mlp/manual_mlp.model", {}, 4}};
  for (const Mode& mode : modes) {
    SCOPED_TRACE(absl::StrCat(mode.model, " ", absl::StrJoin(mode.arguments, " ")));
    const std::string folder = FreshFolder("dumps");
    const CommandResult compiled = Compile(Command(mode, {"--out", folder + "/out", "--quiet"}), folder);
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    for (int rank = 0; rank < mode.ranks; ++rank) {
      SCOPED_TRACE(absl::StrCat("rank ", rank));
      const std::string program = ReadText(absl::StrCat(folder, "/out/rank_", rank, "/program.ir"));
      CheckGraph(ReadText(absl::StrCat(folder, "/out/rank_", rank, "/graph.ir")));
      CheckProgram(program, rank, mode.ranks);
      if (rank > 0 && rank + 1 < mode.ranks) continue;
      const CommandResult printed = Compile(Command(mode, {"--rank", absl::StrCat(rank), "--emit", "program"}), folder);
      EXPECT_EQ(printed.exit_code, 0) << printed.err;
      EXPECT_EQ(printed.out, program);
    }
  }
}

// The line of the op with this name.
std::string LineOf(const std::string& text, const std::string& op) {
  for (const std::string& line : OpLines(text)) {
    if (absl::StrContains(line, absl::StrCat("  // ", op, ", "))) return line;
  }
  return "";
}

TEST(Dumps, ShowWhatPinsSay) {
  const Mode mode = {"tests/end_to_end/sapp_pinned.model", {}, 8};
  const std::string folder = FreshFolder("dumps");
  const CommandResult compiled = Compile(Command(mode, {"--out", folder + "/out", "--quiet"}), folder);
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  for (const int rank : {0, 7}) {
    const std::string graph = ReadText(absl::StrCat(folder, "/out/rank_", rank, "/graph.ir"));
    CheckGraph(graph);
    const std::string pinned = LineOf(graph, "h1.matmul");
    EXPECT_TRUE(absl::StrContains(pinned, " in_strategy((4, 2), (1, 2)) ")) << pinned;
  }
  // There is no plan yet, unless one is asked for.
  const CommandResult printed = Compile(Command(mode, {"--emit", "graph"}), folder);
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_NE(LineOf(printed.out, "h1.matmul"), "");
  EXPECT_FALSE(absl::StrContains(printed.out, "in_strategy")) << printed.out;
  for (const std::vector<std::string>& plan :
       {std::vector<std::string>{"--search", "sapp"}, {"--plan", folder + "/out/plan.json"}}) {
    const CommandResult planned = Compile(Command(mode, {"--emit", "graph", plan[0], plan[1]}), folder);
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    EXPECT_EQ(planned.out, ReadText(folder + "/out/rank_0/graph.ir"));
  }
}

}  // namespace
}  // namespace cleave::tests
