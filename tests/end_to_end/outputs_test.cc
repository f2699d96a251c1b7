// The output of a compile and of a run: files, fields and lines that other programs read (docs/formats).

#include <cmath>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr char kMnist[] = "examples/mnist_mlp/mnist_mlp.model";
constexpr char kSapp[] = "examples/sapp_mlp/sapp_mlp.model";

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A compiled, built and run program on four ranks, made once.
const std::string& TrainedOutput() {
  static const std::string* out = [] {
    const std::string folder = FreshFolder("outputs");
    const CommandResult compiled = Compile({DataPath(kMnist), "--devices", "4", "--out", "out"}, folder);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
    EXPECT_EQ(MakeByGcc(folder + "/out").exit_code, 0);
    const CommandResult ran = Start(folder + "/out", {"--epochs", "1", "--log-every", "20"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    return new std::string(folder + "/out");
  }();
  return *out;
}

TEST(OutputsTest, PlanHasEveryFieldOfTheContract) {
  const Json plan = *ParseStrictJson(ReadText(TrainedOutput() + "/plan.json"));
  EXPECT_EQ(plan["format"], "cleave-plan");
  EXPECT_EQ(plan["version"], 1);
  EXPECT_EQ(plan["model"]["name"], "MnistMlp");
  EXPECT_TRUE(Contains(plan["model"]["hash"], "xxh3:"));
  EXPECT_EQ(plan["cluster"]["devices"], 4);
  ASSERT_EQ(plan["mesh"].size(), 2u);
  EXPECT_EQ(plan["mesh"][0]["axis"], "m0");
  for (const char* field : {"algorithm", "objective", "price", "cost", "lower_bound", "gap"}) {
    EXPECT_TRUE(plan["search"].contains(field)) << field;
  }
  ASSERT_FALSE(plan["ops"].empty());
  std::set<std::string> names;
  for (const Json& op : plan["ops"]) {
    for (const char* field : {"name", "kind", "phase", "line", "inputs", "output", "factors", "in_strategy",
                              "out_strategy", "partial", "decided_by", "reason", "choices"}) {
      EXPECT_TRUE(op.contains(field)) << field << " of " << op["name"];
    }
    EXPECT_TRUE(names.insert(op["name"]).second) << "two ops named " << op["name"];
  }
  EXPECT_TRUE(names.count("h1.matmul") == 1);
  for (const Json& tensor : plan["tensors"]) {
    for (const char* field : {"name", "role", "dtype", "shape", "local_shape", "layout", "partial", "line"}) {
      EXPECT_TRUE(tensor.contains(field)) << field << " of " << tensor["name"];
    }
  }
  for (const Json& collective : plan["collectives"]) {
    for (const char* field :
         {"kind", "phase", "tensors", "axes", "group_size", "dtype", "bytes", "sent_bytes", "line", "why"}) {
      EXPECT_TRUE(collective.contains(field)) << field;
    }
  }
  for (const char* field : {"step_seconds", "compute_seconds", "communication_seconds", "sent_bytes_per_rank"}) {
    EXPECT_TRUE(plan["predicted"].contains(field)) << field;
  }
  for (const char* field : {"parameters", "gradients", "optimizer", "activations", "buffers", "peak"}) {
    EXPECT_TRUE(plan["predicted"]["memory_per_rank"].contains(field)) << field;
  }
  EXPECT_TRUE(plan["warnings"].is_array());
}

TEST(OutputsTest, RunWritesMetricsAndSummary) {
  const std::string& out = TrainedOutput();
  const Json run = *ParseStrictJson(ReadText(out + "/run.json"));
  EXPECT_EQ(run["exit"], 0);
  const size_t steps = run["steps"].get<size_t>();
  EXPECT_GT(steps, 10u);
  for (const char* field : {"seconds", "median_step_seconds", "compute_seconds", "communication_seconds"}) {
    EXPECT_GT(run[field].get<double>(), 0) << field;
  }
  EXPECT_EQ(run["peak_memory_bytes"].size(), 4u);
  EXPECT_EQ(run["sent_bytes"].size(), 4u);
  EXPECT_GT(run["test"]["accuracy"].get<double>(), 0.5);
  EXPECT_EQ(Losses(out).size(), steps);
}

TEST(OutputsTest, StepLinesAndRankLogs) {
  const std::string log = ReadText(TrainedOutput() + "/log_output/1/rank.0/stdout");
  EXPECT_TRUE(std::regex_search(
      log,
      std::regex("epoch 0 step 20/[0-9]+ \\| loss [0-9.]+( \\| [a-z_]+ [0-9.]+)* \\| [0-9.]+ ms \\| [0-9]+ samples/s")))
      << log;
  EXPECT_TRUE(std::regex_search(log, std::regex("epoch 0 \\| test accuracy 0\\.[0-9]+"))) << log;
  for (int rank = 1; rank < 4; ++rank) {
    const std::string folder = TrainedOutput() + "/log_output/1/rank." + std::to_string(rank);
    EXPECT_TRUE(std::filesystem::exists(folder + "/stdout")) << folder;
    EXPECT_EQ(ReadText(folder + "/stderr"), "");
  }
}

// If a file that the program needs is removed, that is noticed; when it comes back, it is built again.
TEST(OutputsTest, TheFolderHoldsNoMoreOfTheRuntimeThanIsNeeded) {
  const std::string kernels = TrainedOutput() + "/runtime/kernels";
  EXPECT_FALSE(std::filesystem::exists(kernels + "/pooling.h"));
  EXPECT_FALSE(std::filesystem::exists(TrainedOutput() + "/runtime/data/mnist.cc"));
  EXPECT_FALSE(Contains(ReadText(TrainedOutput() + "/Makefile"), "-lz"));
  const std::string losses = ReadText(kernels + "/cpu/losses.cc");
  std::filesystem::remove(kernels + "/cpu/losses.cc");
  const CommandResult without = MakeByGcc(TrainedOutput());
  EXPECT_NE(without.exit_code, 0);
  EXPECT_TRUE(Contains(without.err, "undefined reference to `cleave::runtime::")) << without.err;
  WriteText(kernels + "/cpu/losses.cc", losses);
  EXPECT_EQ(MakeByGcc(TrainedOutput()).exit_code, 0);
}

TEST(OutputsTest, DumpsOfEveryRank) {
  for (int rank = 0; rank < 4; ++rank) {
    const std::string folder = TrainedOutput() + "/rank_" + std::to_string(rank);
    EXPECT_TRUE(Contains(ReadText(folder + "/graph.ir"), "in_strategy((")) << folder;
    EXPECT_TRUE(Contains(ReadText(folder + "/program.ir"), "h1.matmul")) << folder;
  }
}

// The published first example of SAPP: the product is cut (4, 2) by (1, 2) on eight ranks. Ranks (0, 1), (2, 3) … add
// up the partial sums: by an all-reduce if the pin wants the output as the product makes it, or by a reduce-scatter,
// which sends half as much, if the readers' layouts are free.
TEST(OutputsTest, PinOfTheFirstProductOfTheSappNetwork) {
  const std::string free = ReadText(DataPath("tests/end_to_end/sapp_pinned.model"));
  const std::string attribute = "#[shard((4, 2), (1, 2))]";
  ASSERT_TRUE(Contains(free, attribute));
  std::string with_output = free;
  with_output.replace(free.find(attribute), attribute.size(), "#[shard(in = ((4, 2), (1, 2)), out = (4, 1))]");
  for (const auto& [model, collective] :
       {std::pair(free, std::string("reduce_scatter")), std::pair(with_output, std::string("all_reduce"))}) {
    const std::string folder = FreshFolder("sapp_pin");
    WriteText(folder + "/pinned.model", model);
    const CommandResult result = Compile({"pinned.model", "--set", "cost=bytes", "--out", "out"}, folder);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    for (int rank = 0; rank < 8; ++rank) {
      const std::string program = ReadText(folder + "/out/rank_" + std::to_string(rank) + "/program.ir");
      const int first = rank / 2 * 2;
      const std::string group = std::to_string(first) + ", " + std::to_string(first + 1);
      EXPECT_TRUE(std::regex_search(program, std::regex("f32\\[64, 392\\] = input"))) << program;
      EXPECT_TRUE(std::regex_search(program, std::regex("f32\\[512, 392\\] = parameter"))) << program;
      EXPECT_TRUE(std::regex_search(
          program, std::regex("f32\\[64, 512\\] = matmul\\([^\n]*in_strategy\\(\\(4, 2\\), \\(1, 2\\)\\)")))
          << program;
      EXPECT_TRUE(std::regex_search(program, std::regex("= " + collective + "\\([^\n]*ranks = \\(" + group +
                                                        "\\)\\}[^\n]*partial sums of h1.matmul")))
          << collective << " in\n"
          << program;
    }
  }
}

TEST(OutputsTest, SameInputGivesTheSameBytes) {
  const std::string folder = FreshFolder("same_bytes");
  for (const char* out : {"a", "b"}) {
    ASSERT_EQ(Compile({DataPath(kMnist), "--devices", "6", "--out", out}, folder).exit_code, 0);
  }
  int compared = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder + "/a")) {
    if (!entry.is_regular_file()) continue;
    const std::string relative = std::filesystem::relative(entry.path(), folder + "/a");
    EXPECT_EQ(ReadText(folder + "/a/" + relative), ReadText(folder + "/b/" + relative)) << relative;
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

TEST(OutputsTest, PlanFedBackGivesTheSameSources) {
  const std::string folder = FreshFolder("fed_back");
  ASSERT_EQ(Compile({DataPath(kMnist), "--devices", "8", "--out", "a"}, folder).exit_code, 0);
  const CommandResult again = Compile({DataPath(kMnist), "--plan", "a/plan.json", "--out", "b"}, folder);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(ReadText(folder + "/a/program.cc"), ReadText(folder + "/b/program.cc"));
}

TEST(OutputsTest, PlanOfAnotherModelIsRefused) {
  const std::string folder = FreshFolder("other_plan");
  ASSERT_EQ(Compile({DataPath(kMnist), "--devices", "2", "--out", "a"}, folder).exit_code, 0);
  const CommandResult result = Compile({DataPath(kSapp), "--plan", "a/plan.json", "--out", "b"}, folder);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(Contains(result.err, "E0604")) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder + "/b"));
}

TEST(OutputsTest, SecondCompileRemovesWhatTheFirstLeft) {
  const std::string folder = FreshFolder("second_compile");
  ASSERT_EQ(Compile({DataPath(kMnist), "--devices", "4", "--out", "out"}, folder).exit_code, 0);
  WriteText(folder + "/out/notes.txt", "mine");
  ASSERT_EQ(Compile({DataPath(kMnist), "--devices", "2", "--out", "out"}, folder).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder + "/out/rank_1/program.ir"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/out/rank_2"));
  EXPECT_EQ(ReadText(folder + "/out/notes.txt"), "mine");
}

TEST(OutputsTest, MakeAndTheScriptRefuseAFolderThatACompileHasNotFinished) {
  const std::string folder = FreshFolder("stopped_compile");
  ASSERT_EQ(Compile({DataPath(kMnist), "--devices", "2", "--out", "out"}, folder).exit_code, 0);
  const std::string script = ReadText(folder + "/out/run.sh");
  // What a compile leaves that was killed after it had put everything in its place but two files.
  std::filesystem::create_directory(folder + "/out/.cleave_next");
  std::filesystem::rename(folder + "/out/.cleave_files", folder + "/out/.cleave_next/.cleave_files");
  WriteText(folder + "/out/.cleave_next/run.sh", "exit 1\n");
  const std::string message = "a compile was stopped while it wrote this folder: compile the model again";
  const CommandResult made = Make(folder + "/out");
  EXPECT_NE(made.exit_code, 0);
  EXPECT_TRUE(Contains(made.err, message)) << made.err;
  const CommandResult started = Start(folder + "/out", {});
  EXPECT_EQ(started.exit_code, 5);
  EXPECT_TRUE(Contains(started.err, message)) << started.err;
  EXPECT_EQ(Compile({DataPath(kMnist), "--devices", "2", "--out", "out"}, folder).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder + "/out/.cleave_next"));
  EXPECT_EQ(ReadText(folder + "/out/run.sh"), script);
}

TEST(OutputsTest, WrongModelLeavesNothing) {
  const std::string folder = FreshFolder("wrong_model");
  WriteText(folder + "/wrong.model", "model M() {\n    let x = relo(1);\n}\n");
  EXPECT_EQ(Compile({"wrong.model", "--out", "out"}, folder).exit_code, 3);
  EXPECT_FALSE(std::filesystem::exists(folder + "/out"));
}

TEST(OutputsTest, DiagnosticsAsJson) {
  const std::string folder = FreshFolder("json");
  WriteText(folder + "/wrong.model", "model M() {\n    let x = relo(1);\n}\n");
  const CommandResult result = Compile({"wrong.model", "--error-format", "json"}, folder);
  EXPECT_EQ(result.exit_code, 3);
  const Json first = *ParseStrictJson(result.err.substr(0, result.err.find('\n')));
  for (const char* field : {"severity", "code", "message", "spans", "notes", "help"}) {
    EXPECT_TRUE(first.contains(field)) << field;
  }
}

// The program of one rank: coordinates, shapes and groups are constants, and the numbers are the same.
TEST(OutputsTest, ProgramOfOneRankComputesTheSame) {
  const std::string folder = FreshFolder("one_rank");
  ASSERT_EQ(Compile({DataPath(kMnist), "--devices", "2", "--out", "out"}, folder).exit_code, 0);
  ASSERT_EQ(Make(folder + "/out").exit_code, 0);
  ASSERT_EQ(Start(folder + "/out", {"--steps", "5"}).exit_code, 0);
  const std::vector<double> together = Losses(folder + "/out");

  const std::string all = ReadText(folder + "/out/program.cc");
  for (const int rank : {0, 1}) {
    const CommandResult source =
        Compile({DataPath(kMnist), "--devices", "2", "--emit", "source", "--rank", std::to_string(rank)}, folder);
    ASSERT_EQ(source.exit_code, 0) << source.err;
    ASSERT_NE(source.out, all);
    WriteText(folder + "/out/program.cc", source.out);
    const CommandResult made = Make(folder + "/out");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    std::filesystem::rename(folder + "/out/program", folder + "/out/program_" + std::to_string(rank));
  }
  const CommandResult ran = RunCommand(
      {"mpirun", "--oversubscribe", "-n", "1", "./program_0", "--steps", "5", ":", "-n", "1", "./program_1", "--steps",
       "5"},
      folder + "/out", {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMP_NUM_THREADS=1"});
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(LargestRelativeDifference(Losses(folder + "/out"), together), 0);
}

}  // namespace
}  // namespace cleave::tests
