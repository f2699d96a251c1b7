// Failures of real machines give one clear message and the right exit code, nothing hangs, and no file is half-written.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr char kModel[] = "examples/mnist_mlp/mnist_mlp.model";

// A compiled and built program for two ranks, made once for all tests.
const std::string& BuiltProgram() {
  static const std::string* out = [] {
    const std::string folder = FreshFolder("faults");
    const CommandResult compiled = Compile({DataPath(kModel), "--devices", "2", "--out", folder + "/out"}, folder);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
    EXPECT_EQ(Make(folder + "/out").exit_code, 0);
    return new std::string(folder + "/out");
  }();
  return *out;
}

const std::vector<std::string> kRoot = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                        "OMP_NUM_THREADS=1"};

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(FaultsTest, OtherNumberOfRanksThanThePlanHas) {
  for (const char* ranks : {"1", "3"}) {
    const CommandResult result =
        RunCommand({"mpirun", "--oversubscribe", "-n", ranks, "./program"}, BuiltProgram(), kRoot);
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_EQ(CountOf(result.err, "error:"), 1) << result.err;
    EXPECT_TRUE(Contains(result.err, "2 ranks")) << result.err;
  }
}

TEST(FaultsTest, UnknownProgramFlag) {
  const CommandResult result = Start(BuiltProgram(), {"--stepz", "3"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_TRUE(Contains(result.out + result.err, "--stepz")) << result.err;
}

TEST(FaultsTest, KilledRankEndsTheJob) {
  const std::string out = BuiltProgram();
  const auto start = std::chrono::steady_clock::now();
  // The second rank kills itself as soon as it has trained for a while; mpirun must not wait for anything else.
  const std::string script =
      "mpirun --oversubscribe -n 2 sh -c '"
      "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then ./program --epochs 100000 --quiet & child=$!; "
      "while [ ! -s metrics.jsonl ]; do sleep 0.02; done; kill -9 $child; wait $child; exit 137; "
      "else exec ./program --epochs 100000 --quiet; fi'";
  std::filesystem::remove(out + "/metrics.jsonl");
  const CommandResult result = RunCommand({"timeout", "60", "sh", "-c", script}, out, kRoot);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.exit_code, 124) << "the job hung";
  EXPECT_LT(seconds, 50);
}

TEST(FaultsTest, LossThatIsNotFinite) {
  const std::string folder = FreshFolder("nan");
  const std::string model = folder + "/nan.model";
  WriteText(model,
            "model M(batch: int = 64) {\n"
            "    input image: f32[batch, 1, 28, 28];\n"
            "    input label: i32[batch];\n"
            "    let hidden = exp(scale(dense(flatten(image), 32), 1e6));\n"
            "    let logits = dense(hidden, 10);\n"
            "    loss cross_entropy(logits, label);\n"
            "}\n"
            "train M { data = digits(); optimizer = sgd(lr = 0.1); epochs = 1; }\n");
  ASSERT_EQ(Compile({model, "--devices", "2", "--out", "out"}, folder).exit_code, 0);
  ASSERT_EQ(Make(folder + "/out").exit_code, 0);
  const CommandResult result = Start(folder + "/out");
  EXPECT_EQ(result.exit_code, 7) << result.out << result.err;
  const std::string text = result.out + result.err;
  EXPECT_TRUE(Contains(text, "step 1")) << text;
  EXPECT_TRUE(Contains(text, "hidden")) << text;
  EXPECT_TRUE(Contains(text, "rank ")) << text;
}

TEST(FaultsTest, OutputFolderThatIsNotOurs) {
  const std::string folder = FreshFolder("not_ours");
  std::filesystem::create_directories(folder + "/out");
  WriteText(folder + "/out/thesis.tex", "years of work");
  const CommandResult result = Compile({DataPath(kModel), "--out", "out"}, folder);
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_TRUE(Contains(result.err, "E0601")) << result.err;
  EXPECT_EQ(ReadText(folder + "/out/thesis.tex"), "years of work");
  EXPECT_FALSE(std::filesystem::exists(folder + "/out/program.cc"));
}

TEST(FaultsTest, OutputFolderThatCannotBeMade) {
  const std::string folder = FreshFolder("not_writable");
  WriteText(folder + "/file", "not a folder");
  const CommandResult result = Compile({DataPath(kModel), "--out", "file/out"}, folder);
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_TRUE(Contains(result.err, "E0602")) << result.err;
}

TEST(FaultsTest, NoCompilerOnThePath) {
  const std::string folder = FreshFolder("no_compiler");
  const CommandResult result =
      RunCommand({DataPath("tools/compile"), DataPath(kModel), "--out", "out", "--run"}, folder, {"PATH=/nonexistent"});
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_TRUE(Contains(result.err, "E0603")) << result.err;
  EXPECT_TRUE(Contains(result.err, "make")) << result.err;
}

TEST(FaultsTest, DataThatIsNotThere) {
  const std::string folder = FreshFolder("no_data");
  ASSERT_EQ(Compile({DataPath(kModel), "--set", "data=mnist(\"nowhere\")", "--devices", "2", "--out", "out"}, folder)
                .exit_code,
            0);
  ASSERT_EQ(Make(folder + "/out").exit_code, 0);
  const CommandResult result = Start(folder + "/out");
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  EXPECT_TRUE(Contains(result.out + result.err, "nowhere")) << result.out << result.err;
}

TEST(FaultsTest, UsageErrors) {
  const std::string folder = FreshFolder("usage");
  EXPECT_EQ(Compile({}, folder).exit_code, 2);
  EXPECT_EQ(Compile({DataPath(kModel), "--no-such-option"}, folder).exit_code, 2);
  EXPECT_EQ(Compile({DataPath(kModel), "--devices", "0"}, folder).exit_code, 2);
  EXPECT_EQ(Compile({DataPath(kModel), "--set", "batch"}, folder).exit_code, 2);
  EXPECT_EQ(Compile({"--help"}, folder).exit_code, 0);
}

TEST(FaultsTest, ModelThatIsNotThere) {
  const CommandResult result = Compile({"nowhere.model"}, FreshFolder("no_model"));
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_TRUE(Contains(result.err, "nowhere.model")) << result.err;
}

}  // namespace
}  // namespace cleave::tests
