// Training that is interrupted and goes on, on any number of ranks and with any plan, is that which was never
// interrupted.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/resuming.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

namespace fs = std::filesystem;

constexpr char kModel[] = "tests/end_to_end/resumed.model";
constexpr size_t kSteps = 21;   // In epochs of 7.
constexpr size_t kMiddle = 10;  // In the middle of an epoch.
constexpr double kTolerance = 1e-5;

std::vector<LocalProgram> AllPlans() {
  return {OnOneRank(), OnTwoRanks(),
          BuildLocal("two_zero_3", kModel, {"--devices", "2", "--search", "data_parallel", "--set", "zero=3"}),
          BuildLocal("three_zero_2", kModel, {"--devices", "3", "--search", "data_parallel", "--set", "zero=2"}),
          BuildLocal("four", kModel, {"--devices", "4", "--set", "mesh=(d=2,t=2)", "--set", "zero=1"})};
}

// The folder of training that is not interrupted, with all its checkpoints.
std::string Whole(const LocalProgram& program) {
  const std::string out = program.path + "_whole";
  if (fs::exists(out + "/run.json")) return out;
  const CommandResult ran = Train(program, out, "--quiet --keep 100 --checkpoint-every 1");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(Losses(out).size(), kSteps);
  return out;
}

std::string Step(const std::string& out, size_t step) { return absl::StrCat(out, "/checkpoints/step_", step); }

std::vector<double> After(const std::vector<double>& losses, size_t step) {
  return {losses.begin() + static_cast<std::ptrdiff_t>(step), losses.end()};
}

Json TestOf(const std::string& out) { return (*ParseStrictJson(ReadText(out + "/run.json")))["test"]; }

// Goes on from a checkpoint of `writer` and expects what follows there.
void ExpectGoesOn(const LocalProgram& program, const LocalProgram& writer, size_t step) {
  SCOPED_TRACE(absl::StrCat(writer.name, " to ", program.name, " after step ", step));
  const std::string whole = Whole(writer);
  const std::string out = FreshFolder("goes_on");
  const CommandResult ran = Train(program, out, absl::StrCat("--checkpoint-every 100 --resume ", Step(whole, step)));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out.rfind(absl::StrCat("goes on after step ", step, "\n"), 0), 0u) << ran.out;
  const std::vector<double> expected = After(Losses(whole), step);
  if (program.name == writer.name) {
    EXPECT_EQ(Losses(out), expected);
    EXPECT_EQ(TestOf(out), TestOf(whole));
    ExpectSameFiles(Step(out, kSteps), Step(whole, kSteps));
  } else {
    EXPECT_LE(LargestRelativeDifference(Losses(out), expected), kTolerance);
  }
}

TEST(Checkpoint, GoesOnUnderEveryPlan) {
  const std::vector<LocalProgram> programs = AllPlans();
  ASSERT_FALSE(HasFailure());
  const Json index = *ParseStrictJson(ReadText(Step(Whole(programs[4]), kMiddle) + "/checkpoint.json"));
  EXPECT_EQ(index["mesh"].size(), 2u);
  EXPECT_TRUE(absl::StrContains(index["tensors"].dump(), R"("axes":[[0,1]])")) << index["tensors"].dump();
  EXPECT_TRUE(absl::StrContains(index["tensors"].dump(), R"("axes":[[],[0,1]])")) << index["tensors"].dump();
  for (const LocalProgram& writer : programs) {
    for (const LocalProgram& program : programs) ExpectGoesOn(program, writer, kMiddle);
  }
}

// At the end of an epoch, beside it, after the first step and before the last.
TEST(Checkpoint, GoesOnAfterAnyStep) {
  for (const size_t step : {1, 6, 7, 8, 14, 20}) ExpectGoesOn(OnTwoRanks(), OnTwoRanks(), step);
}

// Many checkpoints, each of which is completed while training goes on.
TEST(Checkpoint, IsCompletedBesideSteps) {
  for (int round = 0; round < 2; ++round) {
    const std::string out = FreshFolder("beside");
    const CommandResult ran = Train(OnTwoRanks(), out, "--quiet --keep 2 --steps 400 --checkpoint-every 20");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(NamesIn(out + "/checkpoints"), (std::vector<std::string>{"step_380", "step_400"}));
  }
}

// In the folder of the interrupted training itself.
TEST(Checkpoint, LeavesTheFilesOfTrainingThatWasNotInterrupted) {
  const std::string whole = Whole(OnTwoRanks());
  const std::string out = FreshFolder("interrupted");
  ASSERT_EQ(Train(OnTwoRanks(), out, "--quiet --keep 100 --checkpoint-every 1 --steps 13").exit_code, 0);
  // Steps that are done again: of one there is a line, and half of the next.
  for (const size_t step : {11, 12, 13}) fs::remove_all(Step(out, step));
  const std::string metrics = ReadText(out + "/metrics.jsonl");
  WriteText(out + "/metrics.jsonl", metrics.substr(0, metrics.find("{\"step\":12") + 40));
  ASSERT_EQ(Train(OnTwoRanks(), out, "--quiet --keep 100 --checkpoint-every 1 --resume").exit_code, 0);
  EXPECT_EQ(MetricsWithoutSeconds(out), MetricsWithoutSeconds(whole));
  ExpectSameFiles(out + "/checkpoints", whole + "/checkpoints");
  EXPECT_EQ(TestOf(out), TestOf(whole));
}

// bfloat16 and micro-batches, and the state of one in the other.
TEST(Checkpoint, GoesOnInLowPrecisionAndMicroBatches) {
  const LocalProgram low = BuildLocal("low", kModel,
                                      {"--devices", "2", "--search", "data_parallel", "--set", "precision=bf16",
                                       "--set", "micro_batches=2", "--set", "zero=1"});
  ExpectGoesOn(low, low, kMiddle);
  const std::string out = FreshFolder("low");
  const std::string from = Step(Whole(OnTwoRanks()), kMiddle);
  ASSERT_EQ(Train(low, out, absl::StrCat("--quiet --steps 11 --resume ", from)).exit_code, 0);
  EXPECT_LE(LargestRelativeDifference(Losses(out), {Losses(Whole(OnTwoRanks()))[kMiddle]}), 0.03);
}

// The values of the parameters, of a checkpoint that one rank has written.
std::map<std::string, std::string> ParametersOf(const std::string& checkpoint) {
  const std::string file = ReadText(checkpoint + "/rank_0.safetensors");
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
  const size_t begin = sizeof header_bytes + header_bytes;
  const Json header = *ParseStrictJson(file.substr(sizeof header_bytes, header_bytes));
  std::map<std::string, std::string> values;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__" || absl::StrContains(name, ".adam_")) continue;
    const auto from = tensor["data_offsets"][0].get<size_t>();
    values[name] = file.substr(begin + from, tensor["data_offsets"][1].get<size_t>() - from);
  }
  return values;
}

// The learning rate is 0 after the last step, so parameters come back as they were: from one rank of the CPU to two
// that stand in for GPUs, and back.
TEST(Checkpoint, GoesToGpusAndBackExactly) {
  const LocalProgram cuda = BuildLocal(
      "cuda", kModel, {"--devices", "2", "--search", "data_parallel", "--set", "zero=3", "--target", "cuda"});
  ExpectGoesOn(cuda, OnOneRank(), kMiddle);
  ExpectGoesOn(OnOneRank(), cuda, kMiddle);
  ExpectGoesOn(cuda, cuda, kMiddle);
  const std::string there = FreshFolder("there");
  const std::string back = FreshFolder("back");
  const std::string saving = "--quiet --checkpoint-every 1 --steps ";
  ASSERT_EQ(Train(cuda, there, absl::StrCat(saving, "22 --resume ", Step(Whole(OnOneRank()), kSteps))).exit_code, 0);
  ASSERT_EQ(Train(OnOneRank(), back, absl::StrCat(saving, "23 --resume ", Step(there, 22))).exit_code, 0);
  const std::map<std::string, std::string> expected = ParametersOf(Step(Whole(OnOneRank()), kSteps));
  EXPECT_EQ(expected.size(), 8u);
  EXPECT_TRUE(ParametersOf(Step(back, 23)) == expected);
  EXPECT_FALSE(ParametersOf(Step(Whole(OnOneRank()), kSteps - 2)) == expected);
}

// Ranks whose parameters are their own.
TEST(Checkpoint, ManualModelGoesOn) {
  const LocalProgram manual = BuildLocal("manual", "examples/manual_mlp/manual_mlp.model",
                                         {"--set", "devices=2", "--set", "data=digits(train = 224, test = 32)", "--set",
                                          "epochs=3", "--set", "optimizer=momentum(lr = 0.01, momentum = 0.9)"});
  ExpectGoesOn(manual, manual, kMiddle);
  const CommandResult ran =
      Train(OnTwoRanks(), FreshFolder("other"), absl::StrCat("--resume ", Step(Whole(manual), kMiddle)));
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_TRUE(absl::StrContains(ran.err, "is of another model (ManualMlp)")) << ran.err;
}

}  // namespace
}  // namespace cleave::tests
