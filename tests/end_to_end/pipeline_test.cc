// A model in stages trains with the numbers of one rank, in the memory that is predicted, and goes on from checkpoints
// of other plans.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/resuming.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr size_t kSteps = 8;
constexpr double kTolerance = 1e-4;
constexpr char kModel[] = "tests/end_to_end/staged.model";

std::vector<double> LossesOf(const std::string& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--set", "log_every=1"});
  const std::vector<double> losses = TrainModel(DataPath(kModel), arguments, folder, kSteps).losses;
  const Json plan = *ParseStrictJson(ReadText(folder + "/out/plan.json"));
  const Json run = *ParseStrictJson(ReadText(folder + "/out/run.json"));
  int64_t peak = 0;
  for (const auto& [rank, bytes] : run["peak_memory_bytes"].items()) peak = std::max(peak, bytes.get<int64_t>());
  EXPECT_EQ(plan["predicted"]["memory_per_rank"]["peak"].get<int64_t>(), peak);
  return losses;
}

// The table is read in the first and in the last stage. 10 samples in 3 parts are uneven, on 2 ranks too.
TEST(Pipeline, TrainsWithTheNumbersOfOneRank) {
  const std::string folder = FreshFolder("pipeline");
  const std::vector<double> alone = LossesOf(folder, {"--devices", "1"});
  for (const std::vector<std::string>& how :
       std::vector<std::vector<std::string>>{{"--devices", "4", "--set", "stages=2", "--set", "micro_batches=3"},
                                             {"--devices", "6", "--set", "stages=3", "--set", "micro_batches=4",
                                              "--set", "zero=3", "--set", "pipeline_schedule=gpipe"},
                                             {"--devices", "3", "--set", "stages=3", "--set", "micro_batches=5",
                                              "--set", "recompute=full", "--set", "pipeline_schedule=zero_bubble"},
                                             {"--devices", "4", "--set", "stages=2", "--set", "micro_batches=4",
                                              "--set", "pipeline_schedule=interleaved(2)"},
                                             {"--devices", "3", "--set", "stages=3", "--set", "micro_batches=3",
                                              "--set", "recompute=full", "--set", "pipeline_schedule=interleaved(2)"},
                                             {"--devices", "2", "--set", "stages=2", "--set", "recompute=full"}}) {
    SCOPED_TRACE(absl::StrCat(how[1], " devices, ", how[3]));
    EXPECT_LE(LargestRelativeDifference(LossesOf(folder, how), alone), kTolerance);
    const std::string program = ReadText(folder + "/out/program.cc");
    const bool is_interleaved = how.back() == "pipeline_schedule=interleaved(2)";
    EXPECT_TRUE(absl::StrContains(program, is_interleaved ? "namespace stages_1_and_" : "namespace stage_1 {"));
    EXPECT_EQ(absl::StrContains(program, "void WeightGradients() {"), how.back() == "pipeline_schedule=zero_bubble");
  }
}

// The stages in the middle run one text, each with its own numbers.
TEST(Pipeline, StagesThatAreAlikeTrainWithTheNumbersOfOneRank) {
  const std::string folder = FreshFolder("alike");
  const auto losses = [&](std::vector<std::string> arguments) {
    for (const char* size : {"depth=6", "width=32", "batch=6", "seq=16", "vocab=64", "log_every=1"}) {
      arguments.insert(arguments.end(), {"--set", size});
    }
    return TrainModel(DataPath("examples/tiny_gpt/tiny_gpt.model"), arguments, folder, kSteps).losses;
  };
  const std::vector<double> alone = losses({"--devices", "1"});
  for (const char* schedule : {"one_f_one_b", "zero_bubble", "gpipe"}) {
    SCOPED_TRACE(schedule);
    const std::vector<double> staged = losses({"--devices", "6", "--set", "stages=6", "--set", "micro_batches=6",
                                               "--set", absl::StrCat("pipeline_schedule=", schedule)});
    EXPECT_LE(LargestRelativeDifference(staged, alone), kTolerance);
    // The cheapest cuts of gpipe lie within layers here.
    if (absl::string_view(schedule) == "gpipe") continue;
    const std::string program = ReadText(folder + "/out/program.cc");
    EXPECT_TRUE(absl::StrContains(program, "namespace stages_")) << program;
  }
}

// What a stage has, ranks without stages read, and the other way round.
TEST(Pipeline, GoesOnWithOtherPlans) {
  const LocalProgram staged = BuildLocal("staged", "tests/end_to_end/resumed.model",
                                         {"--devices", "4", "--set", "stages=2", "--set", "micro_batches=3"});
  const std::string whole = FreshFolder("whole");
  EXPECT_EQ(Train(OnOneRank(), whole, "--quiet --keep 100 --checkpoint-every 10").exit_code, 0);
  const std::vector<double> expected = Losses(whole);
  const auto goes_on = [&](const LocalProgram& first, const LocalProgram& second) {
    SCOPED_TRACE(absl::StrCat(first.name, " to ", second.name));
    const std::string out = FreshFolder("out");
    const CommandResult begun = Train(first, out, "--quiet --steps 10 --checkpoint-every 10");
    EXPECT_EQ(begun.exit_code, 0) << begun.err;
    const CommandResult ended = Train(second, out, "--quiet --checkpoint-every 10 --resume");
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_LE(LargestRelativeDifference(Losses(out), expected), kTolerance);
  };
  goes_on(OnOneRank(), staged);
  goes_on(staged, OnOneRank());
  goes_on(staged, staged);
}

TEST(Pipeline, PlansCanBeReadBack) {
  const std::string folder = FreshFolder("read");
  const std::string model = DataPath(kModel);
  const std::vector<std::string> stages = {"--set", "stages=2", "--set", "micro_batches=3", "--quiet"};
  const auto compile = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), stages.begin(), stages.end());
    const CommandResult compiled = Compile(arguments, folder);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  };
  compile({model, "--devices", "4", "--out", "searched"});
  compile({model, "--plan", "searched/plan.json", "--out", "read"});
  EXPECT_EQ(ReadText(folder + "/read/program.cc"), ReadText(folder + "/searched/program.cc"));
}

}  // namespace
}  // namespace cleave::tests
