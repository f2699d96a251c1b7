#include "tools/driver/options.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

using Words = std::vector<std::string>;

std::variant<CompileOptions, EarlyExit> Read(const Words& words, Command command) {
  return ParseCommandLine(command, "compile", "Compiles a model.", words);
}

CompileOptions Options(const Words& words, Command command = Command::kCompile) {
  const auto parsed = Read(words, command);
  const auto* exit = std::get_if<EarlyExit>(&parsed);
  EXPECT_EQ(exit, nullptr) << (exit == nullptr ? "" : exit->text);
  return exit == nullptr ? std::get<CompileOptions>(parsed) : CompileOptions();
}

std::string ErrorOf(const Words& words, Command command = Command::kCompile) {
  const auto parsed = Read(words, command);
  const auto* exit = std::get_if<EarlyExit>(&parsed);
  return exit == nullptr ? "" : exit->text.substr(0, exit->text.find('\n'));
}

ExitCode ExitOf(const Words& words, Command command = Command::kCompile) {
  const auto parsed = Read(words, command);
  const auto* exit = std::get_if<EarlyExit>(&parsed);
  return exit == nullptr ? ExitCode::kInternal : exit->code;
}

TEST(OptionsTest, Defaults) {
  const CompileOptions options = Options({"a.model"});
  EXPECT_EQ(options.model, "a.model");
  EXPECT_EQ(options.cluster, "");
  EXPECT_EQ(options.devices, std::nullopt);
  EXPECT_EQ(options.emit, std::nullopt);
  EXPECT_FALSE(options.run);
}

TEST(OptionsTest, EverythingGiven) {
  const CompileOptions options = Options({"a.model",
                                          "--devices",
                                          "8",
                                          "--search",
                                          "data_parallel",
                                          "--set",
                                          "batch=512",
                                          "--set",
                                          "data=mnist(\"x=y\")",
                                          "--emit",
                                          "program",
                                          "--rank",
                                          "3",
                                          "--steps",
                                          "5",
                                          "--seed",
                                          "0",
                                          "--error-format",
                                          "json",
                                          "--quiet"});
  EXPECT_EQ(options.devices, 8);
  EXPECT_EQ(options.search, "data_parallel");
  ASSERT_EQ(options.overrides.size(), 2u);
  EXPECT_EQ(options.overrides[1].first, "data");
  EXPECT_EQ(options.overrides[1].second, "mnist(\"x=y\")");
  EXPECT_EQ(options.emit, EmitStage::kProgram);
  EXPECT_EQ(options.rank, 3);
  EXPECT_TRUE(options.quiet);
  EXPECT_FALSE(options.run);
  EXPECT_EQ(options.steps, 5);
  EXPECT_EQ(options.seed, 0);
  EXPECT_EQ(options.error_format, ErrorFormat::kJson);
}

TEST(OptionsTest, ExplainWithAndWithoutAnOp) {
  EXPECT_EQ(Options({"a.model", "--explain"}).explain, "");
  EXPECT_EQ(Options({"a.model", "--explain", "h1.matmul"}).explain, "h1.matmul");
  EXPECT_EQ(Options({"a.model"}).explain, std::nullopt);
  EXPECT_EQ(Options({"a.model", "--explain", "time", "--rank", "3"}).rank, 3);
  EXPECT_EQ(Options({"a.model", "time", "--rank", "3"}, Command::kExplain).rank, 3);
  EXPECT_EQ(Options({"a.model", "kernels", "--rank", "3"}, Command::kExplain).rank, 3);
}

TEST(OptionsTest, WaysToLaunch) {
  EXPECT_EQ(Options({"a.model"}).launch, "");
  EXPECT_EQ(Options({"--launch", "dynamic", "a.model"}).launch, "dynamic");
  EXPECT_EQ(Options({"--launch", "mpirun", "a.model"}).model, "a.model");
  EXPECT_EQ(Options({"--launch", "local", "a.model"}).launch, "local");
  const CompileOptions table = Options({"--launch", "rank-table", "some ranks.json", "a.model"});
  EXPECT_EQ(table.launch, "rank-table");
  EXPECT_EQ(table.rank_table, "some ranks.json");
  EXPECT_EQ(table.model, "a.model");
  EXPECT_EQ(ErrorOf({"a.model", "--launch", "rank-table"}),
            "error: --launch rank-table: the table is missing: `--launch rank-table FILE`");
  EXPECT_EQ(ErrorOf({"--launch=rank-table", "ranks.json", "a.model"}),
            "error: --launch rank-table: the table is missing: `--launch rank-table FILE`");
  EXPECT_EQ(ErrorOf({"a.model", "--launch", "dynamics"}),
            "error: --launch: `dynamics` is not `mpirun`, `rank-table`, `dynamic` or `local`; did you mean `dynamic`?");
  EXPECT_EQ(ErrorOf({"a.model", "--launch", "dynamic", "--plan-only"}),
            "error: `--launch` says how a program starts, and with `--plan-only` or `--emit` none is written");
}

TEST(OptionsTest, UsageErrors) {
  for (const Words& words : std::vector<Words>{{},
                                               {"a.model", "--devices", "0"},
                                               {"a.model", "--devices", "many"},
                                               {"a.model", "--search", "magic"},
                                               {"a.model", "--emit", "assembly"},
                                               {"a.model", "--set", "batch"},
                                               {"a.model", "--set", "=3"},
                                               {"a.model", "--steps", "-1"},
                                               {"a.model", "--no-such-option"},
                                               {"a.model", "b.model"}}) {
    EXPECT_EQ(ExitOf(words), ExitCode::kUsage);
  }
}

TEST(OptionsTest, UsageErrorsSayWhatWasExpected) {
  EXPECT_EQ(ErrorOf({"a.model", "--devices", "0"}), "error: --devices: `0` is not a whole number from 1 to 1,048,576");
  EXPECT_EQ(ErrorOf({"a.model", "--steps", "0"}), "error: --steps: `0` is not a whole number of at least 1");
  EXPECT_EQ(ErrorOf({"a.model", "--seed", "99999999999999999999"}),
            "error: --seed: `99999999999999999999` is not a whole number of at least 0");
  EXPECT_EQ(ErrorOf({"a.model", "--emit", "grap"}),
            "error: --emit: `grap` is not `ast`, `graph`, `plan`, `program` or `source`; did you mean `graph`?");
  EXPECT_EQ(ErrorOf({"a.model", "--emit", "0"}),
            "error: --emit: `0` is not `ast`, `graph`, `plan`, `program` or `source`");
  EXPECT_EQ(ErrorOf({"a.model", "--set", "batch"}), "error: --set: expected name=value, found `batch`");
  EXPECT_EQ(ErrorOf({"a.model", "--bogus"}), "error: unexpected `--bogus`");
  EXPECT_EQ(ErrorOf({}), "error: MODEL is required");
}

TEST(OptionsTest, OptionsThatCannotBothBeMeant) {
  EXPECT_EQ(ErrorOf({"a.model", "--plan-only", "--run"}),
            "error: `--plan-only` writes no program that `--run` could start");
  EXPECT_EQ(ErrorOf({"a.model", "--emit", "graph", "--run"}),
            "error: `--emit` writes no program that `--run` could start");
  EXPECT_EQ(ErrorOf({"a.model", "--emit", "graph", "--plan-only"}),
            "error: `--plan-only` and `--emit` print different things");
  EXPECT_EQ(ErrorOf({"a.model", "--emit", "graph", "--html", "p.html"}),
            "error: `--html` goes with a plan that is made, not with `--emit`");
  EXPECT_EQ(ErrorOf({"a.model", "--html", ""}), "error: `--html` needs the name of a file");
  EXPECT_EQ(ErrorOf({"a.model", "--also", "2", "--plan", "p.json"}),
            "error: `--also` makes a plan for each number of ranks, and `--plan` gives one for a single number");
  EXPECT_EQ(ErrorOf({"a.model", "--also", "2,four"}),
            "error: --also: expected numbers of ranks between commas, as in `4,2`, found `2,four`");
  EXPECT_EQ(ErrorOf({"a.model", "--devices", "4", "--also", "2,4"}),
            "error: --also: 4 is not less than the 4 ranks of the program");
  EXPECT_EQ(ErrorOf({"a.model", "--plan", "p.json", "--search", "sapp"}),
            "error: `--plan` takes an existing plan; `--search` makes a new one");
  const std::string of_rank = "error: `--rank` goes with `--emit program`, `--emit source` or `--explain time`";
  EXPECT_EQ(ErrorOf({"a.model", "--rank", "1"}), of_rank);
  EXPECT_EQ(ErrorOf({"a.model", "--emit", "graph", "--rank", "1"}), of_rank);
  EXPECT_EQ(ErrorOf({"a.model", "memory", "--rank", "1"}, Command::kExplain), of_rank);
}

TEST(OptionsTest, UsageErrorsComeAsJsonWhereThatIsAskedFor) {
  const std::string json =
      R"({"severity":"error","code":null,"message":"--devices: `0` is not a whole number from 1 to 1,048,576",)"
      R"("spans":[],"notes":[],"help":["`--help` lists the options"]})";
  EXPECT_EQ(ErrorOf({"a.model", "--devices", "0", "--error-format", "json"}), json);
  EXPECT_EQ(ErrorOf({"--error-format=json", "a.model", "--devices", "0"}), json);
  EXPECT_EQ(ErrorOf({"--error-format", "text", "--bogus", "a.model"}), "error: unexpected `--bogus`");
}

TEST(OptionsTest, AMistypedOptionGetsTheNearest) {
  EXPECT_EQ(ErrorOf({"a.model", "--devcies", "4"}), "error: unexpected `--devcies 4`; did you mean `--devices`?");
  EXPECT_EQ(ErrorOf({"--devcies=4"}), "error: unexpected `--devcies=4`; did you mean `--devices`?");
  EXPECT_EQ(ErrorOf({"a.model", "--targt=cuda"}), "error: unexpected `--targt=cuda`; did you mean `--target`?");
}

TEST(OptionsTest, RunStartsTheProgramWithWhatFollowsTwoDashes) {
  const CompileOptions options =
      Options({"a.model", "--devices", "2", "--", "--launch", "local", "--", "--steps"}, Command::kRun);
  EXPECT_TRUE(options.run);
  EXPECT_EQ(options.devices, 2);
  EXPECT_EQ(options.launch, "");
  EXPECT_EQ(options.run_arguments, (Words{"--launch", "local", "--", "--steps"}));
  EXPECT_EQ(Options({"a.model", "--launch", "local"}, Command::kRun).launch, "local");
  EXPECT_EQ(ErrorOf({"--", "a.model"}, Command::kRun), "error: MODEL is required");
  EXPECT_EQ(Options({"--", "a.model"}).model, "a.model");
  EXPECT_EQ(ErrorOf({"a.model", "--plan-only"}, Command::kRun), "error: unexpected `--plan-only`");
}

TEST(OptionsTest, PlanAndExplainWriteNoProgram) {
  const CompileOptions plan = Options({"a.model", "--out", "plans"}, Command::kPlan);
  EXPECT_TRUE(plan.plan_only);
  EXPECT_EQ(plan.out, "plans");
  EXPECT_EQ(plan.explain, std::nullopt);
  EXPECT_EQ(plan.html, std::nullopt);
  for (const Command command : {Command::kCompile, Command::kPlan, Command::kExplain}) {
    EXPECT_EQ(Options({"a.model", "--html", "p.html"}, command).html, "p.html");
  }
  EXPECT_EQ(Options({"a.model", "--explain"}, Command::kPlan).explain, "");
  const CompileOptions table = Options({"a.model"}, Command::kExplain);
  EXPECT_TRUE(table.plan_only);
  EXPECT_EQ(table.explain, "");
  EXPECT_EQ(Options({"a.model", "h1.matmul", "--search", "exact"}, Command::kExplain).explain, "h1.matmul");
  EXPECT_EQ(ErrorOf({"a.model", "--run"}, Command::kPlan).substr(0, 25), "error: unexpected `--run`");
  EXPECT_EQ(ErrorOf({"a.model", "--out=x"}, Command::kExplain), "error: unexpected `--out=x`");
}

TEST(OptionsTest, HelpIsNoError) { EXPECT_EQ(ExitOf({"--help"}), ExitCode::kDone); }

}  // namespace
}  // namespace cleave::tools
