#include "tools/sweep/sweep.h"

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file/file.h"
#include "gtest/gtest.h"
#include "tools/jobs/jobs.h"
#include "tools/sweep/grid.h"
#include "tools/sweep/results.h"

namespace cleave::tools {
namespace {

using Words = std::vector<std::string>;

std::string TextOf(const std::string& path) {
  return ReadFile(path, {.what = "file", .most_bytes = 1 << 20}).value_or("");
}

std::string Mistake(const std::vector<SettingValue>& settings) {
  const auto axes = AxesOf(settings);
  const auto* const mistake = std::get_if<std::string>(&axes);
  return mistake == nullptr ? "" : *mistake;
}

TEST(GridTest, CommasInBracketsAndQuotesSeparateNothing) {
  EXPECT_EQ(SplitValues("1e-3, 3e-4"), (Words{"1e-3", "3e-4"}));
  EXPECT_EQ(SplitValues("sgd(lr = 0.1, momentum = 0.9),adamw()"), (Words{"sgd(lr = 0.1, momentum = 0.9)", "adamw()"}));
  EXPECT_EQ(SplitValues("(2, 2),(4, 1)"), (Words{"(2, 2)", "(4, 1)"}));
  EXPECT_EQ(SplitValues(R"(tokens("a,\",b"),tokens("c"))"), (Words{R"(tokens("a,\",b"))", R"(tokens("c"))"}));
}

TEST(GridTest, MistakesAreFoundBeforeAnythingRuns) {
  EXPECT_EQ(Mistake({{"lr", "1,2"}}), "");
  EXPECT_TRUE(absl::StrContains(Mistake({{"lr", "1"}, {"lr", "2"}}), "`--set lr=1,2`"));
  EXPECT_EQ(Mistake({{"lr", "1,"}}), "--set: a value of `lr` is missing in `1,`");
  EXPECT_EQ(Mistake({{"lr", "1,2,1"}}), "--set: `lr` has the value `1` twice");
  EXPECT_TRUE(absl::StrContains(Mistake({{"lr", "1"}}), "cleave run"));
  EXPECT_TRUE(absl::StrContains(Mistake({}), "cleave run"));
}

// Flags of the program are `lr` alone.
Words LrIsAFlag(const std::string& name, const std::string& value) {
  return name == "lr" ? Words{"--set", absl::StrCat("lr=", value)} : Words{};
}

TEST(GridTest, RunsAreTheProductAndShareProgramsWhereOnlyFlagsDiffer) {
  const std::vector<SweepRun> runs = RunsOf({{"lr", {"1", "2"}}, {"width", {"8", "16"}}, {"batch", {"4"}}}, LrIsAFlag);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].name, "lr=1,width=8");
  EXPECT_EQ(runs[1].name, "lr=1,width=16");
  EXPECT_EQ(runs[2].name, "lr=2,width=8");
  EXPECT_EQ(runs[1].program, "width=16");
  EXPECT_EQ(runs[1].values, (Words{"1", "16"}));
  EXPECT_EQ(runs[1].flags, (Words{"--set", "lr=1"}));
  EXPECT_EQ(runs[1].compiled, (std::vector<SettingValue>{{"width", "16"}, {"batch", "4"}}));
  EXPECT_EQ(RunsOf({{"lr", {"1", "2"}}}, LrIsAFlag)[1].program, "all");
}

TEST(GridTest, NamesOfFoldersDifferWhereTheirSignsAreReplaced) {
  const std::vector<SweepRun> runs = RunsOf({{"data", {"tokens(\"a/b\")", "tokens(\"a_b\")"}}}, LrIsAFlag);
  EXPECT_EQ(runs[0].name.find_first_of("/\"() "), std::string::npos) << runs[0].name;
  EXPECT_NE(runs[0].name, runs[1].name);
}

class SweepTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = absl::StrCat(testing::TempDir(), "/", test->name());
    std::filesystem::create_directories(folder_);
  }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(absl::StrCat(folder_, "/", name)) << text;
    return absl::StrCat(folder_, "/", name);
  }

  std::string folder_;
};

TEST_F(SweepTest, ResultsAreReadAsFarAsTheyAreThere) {
  EXPECT_FALSE(ReadResult(folder_).exit_code.has_value());
  Write("metrics.jsonl",
        "{\"step\":1,\"loss\":2.5,\"seconds\":0.1}\n{\"step\":1,\"validation\":{\"loss\":1.5}}\n"
        "{\"step\":2,\"loss\":1.25}\n{\"step\":3,\"loss\":null}\n{\"step\":4,\"lo");
  RunResult result = ReadResult(folder_);
  EXPECT_EQ(result.steps, 3);
  ASSERT_EQ(result.losses.size(), 3u);
  EXPECT_EQ(result.losses[1], 1.25);
  EXPECT_TRUE(std::isnan(result.losses[2]));
  EXPECT_EQ(result.best_validation, 1.5);
  EXPECT_FALSE(IsFinal(result));
  Write("run.json", "{\"exit\":7,\"median_step_seconds\":0.5}");
  result = ReadResult(folder_);
  EXPECT_TRUE(IsFinal(result));
  const std::string table = TableText({"lr"}, {{.values = {"0.1"}, .result = result, .status = "not finite"}});
  EXPECT_EQ(table,
            "lr   steps  loss  best  validation  steps/s  status      loss by step\n"
            "0.1  3      -     1.25  1.5         2        not finite  █▁!\n");
}

TEST(ResultsTest, CurvesFallFromHighToLow) {
  EXPECT_EQ(Curve({4, 3, 2, 1}, 4, 1, 4), "█▆▃▁");
  EXPECT_EQ(Curve({4, 4, 0, 0}, 2, 0, 4), "█▁");
  EXPECT_EQ(Curve({1, 1}, 4, 1, 1), "▁▁");
  EXPECT_EQ(Curve({}, 4, 0, 1), "");
}

TEST_F(SweepTest, JobsRunInTheirFoldersAndEndTogether) {
  std::vector<int> codes(3, -1);
  const auto slot = [](size_t number) {
    return std::vector<std::pair<std::string, std::string>>{{"SLOT", absl::StrCat(number)}};
  };
  const Job echo = {.folder = folder_, .command = {"/bin/sh", "-c", "echo $SLOT; exit 3"}, .log = "log"};
  const Job none = {.folder = folder_, .command = {"./nonesuch"}, .log = "none"};
  EXPECT_EQ(RunJobs({echo, none}, 1, slot, [&](size_t job, int code) { codes[job] = code; }), 0);
  EXPECT_EQ(codes, (std::vector<int>{3, 127, -1}));
  EXPECT_EQ(TextOf(absl::StrCat(folder_, "/log")), "0\n");
  // The first two interrupt this process; each ends by what it gets, and the third does not begin.
  const std::string wait = absl::StrCat("trap 'exit 9' TERM; kill -INT ", getpid(), "; while :; do sleep 0.01; done");
  const Job waits = {.folder = folder_, .command = {"/bin/sh", "-c", wait}, .log = "waits"};
  codes.assign(3, -1);
  EXPECT_EQ(RunJobs({waits, waits, waits}, 1, slot, [&](size_t job, int code) { codes[job] = code; }), SIGINT);
  EXPECT_EQ(codes, (std::vector<int>{9, -1, -1}));
}

struct Outcome {
  ExitCode code;
  std::string out, err;
};

Outcome Sweep(const Words& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const ExitCode code = RunSweep("cleave sweep", "Sweeps.", words);
  const std::string out = testing::internal::GetCapturedStdout();
  return {code, out, testing::internal::GetCapturedStderr()};
}

TEST_F(SweepTest, ListsRunsAndRefusesWhatTheCompilerWould) {
  const std::string model = Write("net.model",
                                  "model Net(width: int = 8) { input x: f32[8, 4]; input y: f32[8, 4];\n"
                                  "loss mse(dense(relu(dense(x, width)), 4), y); }\n"
                                  "train Net { data = synthetic(); optimizer = adamw(lr = 0.01); steps = 5; }\n");
  const auto dry = [&](Words words) {
    words.insert(words.begin(), {model, "--out", absl::StrCat(folder_, "/out"), "--dry-run"});
    return Sweep(words);
  };
  const Outcome list = dry({"--set", "lr=0.1,0.01", "--set", "width=4,8", "--set", "seed=3", "--", "--steps", "7"});
  EXPECT_EQ(list.code, ExitCode::kDone) << list.err;
  EXPECT_TRUE(absl::StartsWith(list.out, "2 programs, 4 runs in ")) << list.out;
  EXPECT_TRUE(
      absl::StrContains(list.out, "  lr=0.1,width=8: program width=8; run.sh --steps 7 --set lr=0.1 --seed 3\n"))
      << list.out;
  // 0 decides what is computed, so it needs a program of its own; other values are flags of the model's.
  EXPECT_TRUE(absl::StartsWith(dry({"--set", "optimizer.weight_decay=0,0.1,0.2"}).out, "2 programs, 3 runs in "));
  EXPECT_EQ(dry({"--set", "width=4,0"}).code, ExitCode::kModelWrong);
  EXPECT_TRUE(absl::StrContains(dry({"--set", "width=4,0"}).err, "the settings of `width=0` are refused"));
  EXPECT_EQ(dry({"--set", "widht=4,8"}).code, ExitCode::kModelWrong);
  EXPECT_EQ(dry({"--set", "lr=0.1"}).code, ExitCode::kUsage);
  EXPECT_EQ(dry({"--set", "lr=0.1,0.2", "--", "--out", "x"}).code, ExitCode::kUsage);
  EXPECT_EQ(dry({"--set", "seed=1,2", "--", "--seed", "3"}).code, ExitCode::kUsage);
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(folder_, "/out")));
}

}  // namespace
}  // namespace cleave::tools
