// Runs every target over files of its corpus and over random changes of them. CLEAVE_TEST_SEED sets another seed.
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "ir/testing/seed.h"
#include "tests/fuzz/mutations.h"
#include "tests/support/command.h"

namespace cleave::tests::fuzz {
namespace {

struct Target {
  std::string name;
  int mutations;  // Together all targets take a few seconds.
};

std::ostream& operator<<(std::ostream& stream, const Target& target) { return stream << target.name; }

class FuzzTest : public testing::TestWithParam<Target> {};

TEST_P(FuzzTest, AnyInputEndsWell) {
  const std::string target = "tests/fuzz/" + GetParam().name;
  const CommandResult result = RunCommand(
      {DataPath(target), "--corpus", DataPath(target + ".corpus"), "--words", DataPath(target + ".words"), "--most",
       "100", "--mutations", std::to_string(GetParam().mutations), "--seed", std::to_string(ir::TestSeed())});
  EXPECT_EQ(result.exit_code, 0) << result.err
                                 << "under Bazel it is in bazel-testlogs/tests/fuzz/fuzz_test/test.outputs";
}

const std::vector<Target>& Targets() {
  static const auto& targets = *new std::vector<Target>{
      {"chat", 3000},        {"cluster_file", 5000}, {"command_line", 1000}, {"config", 1000},
      {"image", 2000},       {"json", 5000},         {"mapping", 5000},      {"model_graph", 100},
      {"model_program", 10}, {"model_text", 300},    {"npy", 5000},          {"packets", 5000},
      {"placement", 5000},   {"plan_file", 300},     {"rank_table", 5000},   {"safetensors", 5000},
      {"samples", 5000},     {"settings", 100},      {"tokenizer", 300}};
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzTest, testing::ValuesIn(Targets()),
                         [](const testing::TestParamInfo<Target>& info) { return info.param.name; });

TEST(TargetsTest, EachRuns) {
  std::set<std::string> built, run;
  for (const auto& entry : std::filesystem::directory_iterator(DataPath("tests/fuzz"))) {
    if (entry.path().extension() == ".corpus") built.insert(entry.path().stem().string());
  }
  for (const Target& target : Targets()) run.insert(target.name);
  EXPECT_EQ(run, built);
}

// The runs above would say nothing if this one ended well.
TEST(ReplayTest, NoticesEveryEarlyEnd) {
  const std::string folder = FreshFolder("ends_early");
  WriteText(folder + "/-", "-");
  const std::string program = DataPath("tests/fuzz/ends_early");
  EXPECT_EQ(RunCommand({program, folder + "/-"}, folder).exit_code, 0);
  for (const std::string way : {"abort", "exit code 70", "x: exit code 0", "throw", "memory"}) {
    SCOPED_TRACE(way);
    WriteText(folder + "/input", way);
    const CommandResult result =
        RunCommand({program, folder + "/-", folder + "/input"}, folder, {"TEST_UNDECLARED_OUTPUTS_DIR=" + folder});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.err.find("run 2 ended"), std::string::npos) << result.err;
    const size_t path = result.err.find(folder);
    ASSERT_NE(path, std::string::npos) << result.err;
    EXPECT_EQ(ReadText(result.err.substr(path, result.err.find('\n', path) - path)), way);
  }
}

TEST(MutationsTest, ChangesAreSmallAndDiffer) {
  std::mt19937_64 random(1);
  const std::string text(1000, 'a');
  int changed = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string mutated = Mutated({text}, {"word"}, random);
    EXPECT_LE(mutated.size(), text.size() + 4 * 64);
    EXPECT_GE(mutated.size() + 4 * 64, text.size());
    changed += mutated == text ? 0 : 1;
  }
  EXPECT_GT(changed, 90);
}

TEST(MutationsTest, DictionariesHaveEscapes) {
  EXPECT_EQ(DictionaryWords("\"let\"\n\"a\\\"b\"\n\"\\\\\"\n\"\\x41\\x00\"\n"),
            (std::vector<std::string>{"let", "a\"b", "\\", std::string("A\0", 2)}));
}

}  // namespace
}  // namespace cleave::tests::fuzz
