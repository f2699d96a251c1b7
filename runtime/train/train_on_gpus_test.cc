// Whole runs of example_program.cu on a stand-in for GPUs, compared with those of example_program.cc: with NCCL, where
// the phases of a step are recorded, and with ranks that share a GPU, where they are not.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace cleave::runtime {
namespace {

struct Outcome {
  int exit = 0;
  std::string output;  // Standard output and error.
};

Outcome Shell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.output.append(buffer, count);
  const int status = pclose(pipe);
  outcome.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

constexpr char kOnCpu[] = "example_program";
constexpr char kWithNccl[] = "example_program_nccl";
constexpr char kShared[] = "example_program_shared";

std::string Out() { return testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name(); }

Outcome Start(const std::string& program, int ranks, const std::string& environment, const std::string& flags = "") {
  return Shell("env OMP_NUM_THREADS=1 RANKS=" + std::to_string(ranks) + " " + environment + " runtime/train/" +
               program + " --out " + Out() + " " + flags);
}

std::string Content(const std::string& name) { return Shell("cat " + Out() + "/" + name).output; }

std::vector<double> Losses() {
  std::vector<double> losses;
  const std::string text = Content("metrics.jsonl");
  for (size_t at = text.find("\"loss\":"); at != std::string::npos; at = text.find("\"loss\":", at + 1)) {
    losses.push_back(std::atof(text.c_str() + at + 7));
  }
  return losses;
}

// The text behind `name` in run.json, up to the end of its object or value.
std::string InRun(const std::string& name) {
  const std::string text = Content("run.json");
  const size_t at = text.find("\"" + name + "\":");
  return at == std::string::npos ? "missing" : text.substr(at, text.find('}', at) - at);
}

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TrainOnGpus, LossesAreThoseOfTheCpu) {
  ASSERT_EQ(Start(kOnCpu, 1, "").exit, 0);
  const std::vector<double> expected = Losses();
  ASSERT_EQ(expected.size(), 60u);
  const double accuracy = std::atof(InRun("test").substr(19).c_str());
  ASSERT_GT(accuracy, 0.2);
  for (const char* const order : {"", "CUDA_STAND_IN_SEED=1"}) {
    for (const char* const program : {kWithNccl, kShared}) {
      for (const int ranks : {1, 2, 3}) {
        const Outcome outcome = Start(program, ranks, order);
        ASSERT_EQ(outcome.exit, 0) << outcome.output;
        const std::vector<double> losses = Losses();
        ASSERT_EQ(losses.size(), expected.size());
        for (size_t i = 0; i < losses.size(); ++i)
          ASSERT_NEAR(losses[i], expected[i], 1e-5 * expected[i]) << program << " " << ranks << " ranks, step " << i;
        EXPECT_NEAR(std::atof(InRun("test").substr(19).c_str()), accuracy, 0.005);
        EXPECT_FALSE(Contains(Content("metrics.jsonl"), "nan"));
      }
    }
  }
}

// logits.weight of the example: [10, 32].
std::string WriteWeight() {
  const std::string path = testing::TempDir() + "/weight.npy";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (10, 32), }";
  header.resize(117, ' ');
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << '\n';
  for (int i = 0; i < 320; ++i) {
    const float value = 0.01f * static_cast<float>(i % 7 - 3);
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return path;
}

TEST(TrainOnGpus, AProfileHasTheOpsOfEachStep) {
  for (const char* const program : {kWithNccl, kShared}) {
    ASSERT_EQ(Start(program, 2, "", "--steps 6").exit, 0);
    const std::vector<double> expected = Losses();
    const Outcome outcome = Start(program, 2, "", "--steps 6 --profile=" + Out() + ".json");
    ASSERT_EQ(outcome.exit, 0) << outcome.output;
    EXPECT_EQ(Losses(), expected);
    EXPECT_TRUE(Contains(outcome.output, "profile of 5 steps on rank 0: ")) << outcome.output;
    // Nothing is replayed, so every step has its ops.
    EXPECT_TRUE(Contains(Content("run.json"), "{\"op\":\"h1.relu\",\"place\":\"example.model:7\",\"calls\":1,"))
        << Content("run.json");
  }
}

TEST(TrainOnGpus, ParametersAreReadFromFiles) {
  const std::string weight = "WEIGHT=" + WriteWeight();
  ASSERT_EQ(Start(kOnCpu, 1, "", "--steps 3").exit, 0);
  const std::vector<double> without = Losses();
  ASSERT_EQ(Start(kOnCpu, 1, weight, "--steps 3").exit, 0);
  const std::vector<double> expected = Losses();
  ASSERT_EQ(expected.size(), 3u);
  EXPECT_GT(std::fabs(expected[0] - without[0]), 0.01);
  const Outcome outcome = Start(kWithNccl, 2, weight, "--steps 3");
  ASSERT_EQ(outcome.exit, 0) << outcome.output;
  const std::vector<double> losses = Losses();
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5 * expected[i]);
  const Outcome wrong = Start(kWithNccl, 2, "WEIGHT=/nowhere.npy", "--steps 3");
  EXPECT_EQ(wrong.exit, 3);
  EXPECT_TRUE(Contains(wrong.output, "/nowhere.npy")) << wrong.output;
}

// The traffic of 60 steps on 2 ranks: the loss, two gradients, and the accuracy of every tenth step, without that of
// tests.
TEST(TrainOnGpus, TrafficOfReplaysIsCounted) {
  const int64_t bytes = 4 * (60 * (1 + 784 * 32 + 32 + 10 * 32 + 10) + 6);
  for (const char* const program : {kWithNccl, kShared}) {
    const Outcome outcome = Start(program, 2, "");
    ASSERT_EQ(outcome.exit, 0) << outcome.output;
    EXPECT_EQ(InRun("all_reduce"), "\"all_reduce\":{\"count\":186,\"bytes\":" + std::to_string(bytes) +
                                       ",\"sent_bytes\":" + std::to_string(bytes) + ",\"seconds\":0");
    EXPECT_TRUE(Contains(Content("run.json"), "\"communication_seconds\":0,")) << Content("run.json");
  }
}

TEST(TrainOnGpus, ALossThatIsNotFiniteNamesStepTensorLineAndRank) {
  for (const char* const program : {kWithNccl, kShared}) {
    const Outcome outcome = Start(program, 2, "FAULT=nan:1");
    EXPECT_EQ(outcome.exit, 7);
    EXPECT_TRUE(Contains(outcome.output,
                         "error: step 3: the loss is nan; the first value that is not finite is nan in `h1.relu` "
                         "(example.model:7), element 5 of rank 1's piece\n"))
        << outcome.output;
    EXPECT_EQ(Losses().size(), 2u);
  }
}

TEST(TrainOnGpus, AParameterThatIsNotFiniteAfterTheLastUpdate) {
  const Outcome outcome = Start(kWithNccl, 2, "FAULT=weight:1", "--steps 3");
  EXPECT_EQ(outcome.exit, 7);
  EXPECT_TRUE(Contains(outcome.output, "`h1.weight` (example.model:14), element 3 of rank 1's piece\n"))
      << outcome.output;
}

TEST(TrainOnGpus, WithoutAGpuEndsAtOnce) {
  for (const char* const program : {kWithNccl, kShared}) {
    for (const int ranks : {1, 3}) {
      const Outcome none = Start(program, ranks, "CUDA_STAND_IN_DEVICES=0");
      EXPECT_EQ(none.exit, 5);
      EXPECT_TRUE(Contains(none.output, "error: this program computes on NVIDIA GPUs, and none can be seen"))
          << none.output;
      const Outcome driver = Start(program, ranks, "CUDA_STAND_IN_FAULT=no_driver");
      EXPECT_EQ(driver.exit, 5);
      EXPECT_TRUE(Contains(driver.output, "the machine has no NVIDIA driver")) << driver.output;
      const Outcome old = Start(program, ranks, "CUDA_STAND_IN_FAULT=old_device");
      EXPECT_EQ(old.exit, 5);
      EXPECT_TRUE(Contains(old.output, "the program was not built for GPU 0")) << old.output;
    }
  }
}

TEST(TrainOnGpus, TwoRanksOnOneGpuOnlyWhereTheyMayShareIt) {
  const Outcome refused = Start(kWithNccl, 2, "CUDA_STAND_IN_DEVICES=1");
  EXPECT_EQ(refused.exit, 5);
  EXPECT_TRUE(Contains(refused.output, "error: ranks 0 and 1 would share GPU 0 of host ")) << refused.output;
  EXPECT_EQ(Start(kShared, 2, "CUDA_STAND_IN_DEVICES=1", "--steps 2").exit, 0);
  // NCCL lets them from 2.30 on, where it is asked to.
  const std::string asked = "CUDA_STAND_IN_DEVICES=1 NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_STAND_IN_VERSION=";
  EXPECT_EQ(Start(kWithNccl, 2, asked + "22907", "--steps 2").exit, 5);
  EXPECT_EQ(Start(kWithNccl, 2, asked + "23002", "--steps 2").exit, 0);
}

TEST(TrainOnGpus, OutOfMemoryNamesWhatWasAskedAndWhatThereIs) {
  const Outcome outcome = Start(kWithNccl, 2, "CUDA_STAND_IN_MEMORY=100000");
  EXPECT_EQ(outcome.exit, 6);
  EXPECT_TRUE(Contains(outcome.output, "error: out of memory: asked for ")) << outcome.output;
  const std::string before = ", the GPU has ";
  ASSERT_TRUE(Contains(outcome.output, before)) << outcome.output;
  const int left = std::atoi(outcome.output.c_str() + outcome.output.find(before) + before.size());
  EXPECT_GT(left, 50000);
  EXPECT_LE(left, 100000);
}

// The host reads tensors only through copies: in training, in tests, and when it searches for a value that is not
// finite.
TEST(TrainOnGpus, TheHostTouchesNoMemoryOfTheGpu) {
  const Outcome outcome = Start(kWithNccl, 1, "CUDA_STAND_IN_GUARD=1", "--steps 25");
  EXPECT_EQ(outcome.exit, 0) << outcome.output;
  const Outcome bad = Start(kShared, 1, "CUDA_STAND_IN_GUARD=1 FAULT=nan:0");
  EXPECT_EQ(bad.exit, 7);
  EXPECT_TRUE(Contains(bad.output, "in `h1.relu` (example.model:7), element 5 of rank 0's piece")) << bad.output;
}

TEST(TrainOnGpus, MemoryCountsWhatIsTakenBesideTheArena) {
  ASSERT_EQ(Start(kWithNccl, 1, "", "--steps 3").exit, 0);
  // At least the arena, the inputs once more, and the step's numbers.
  const double arena = 4 * (2 * 25482.0 + 100 * (784 + 3 + 64 + 20) + 2);
  EXPECT_GT(std::atof(InRun("peak_memory_bytes").substr(25).c_str()), arena + 4 * 100 * 786);
  EXPECT_LT(std::atof(InRun("peak_memory_bytes").substr(25).c_str()), arena + 4 * 100 * 786 + 10000);
}

}  // namespace
}  // namespace cleave::runtime
