// States, such as the running averages of batch_norm: what PyTorch makes of the same model, however it is split, also
// where training was interrupted, and what a trained model then gives.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/resuming.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

const std::string kData = "tests/end_to_end/states/";
constexpr char kTolerance[] = "1e-5";

LocalProgram Build(const std::string& name, std::vector<std::string> arguments) {
  return BuildLocal(absl::StrCat("states_", name), kData + "states.model", arguments);
}

// PyTorch's (tests/end_to_end/states/README.md).
void ExpectLosses(const std::string& out) {
  const std::vector<double> expected = {1.7081168890, 1.3684965372, 1.3798151016, 0.9957981110,
                                        0.9649665355, 0.9582856297, 1.0574294329, 0.8243136406};
  const std::vector<double> losses = Losses(out);
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << i;
}

void ExpectEnd(const std::string& checkpoints) {
  const std::string cleave = DataPath("tools/cleave"), end = FreshFolder("end") + "/end.safetensors";
  EXPECT_EQ(RunCommand({cleave, "weights", "export", checkpoints, end}).exit_code, 0);
  const CommandResult diff =
      RunCommand({cleave, "weights", "diff", end, DataPath(kData + "end.safetensors"), "--tolerance", kTolerance});
  EXPECT_EQ(diff.exit_code, 0) << diff.out << diff.err;
}

TEST(States, AreThoseOfPyTorchHoweverTheModelIsSplit) {
  const std::vector<std::vector<std::string>> ways = {{"--devices", "1"},
                                                      {"--devices", "2", "--set", "zero=1"},
                                                      {"--devices", "3", "--set", "zero=3"},
                                                      {"--devices", "4", "--search", "data_parallel"}};
  for (const std::vector<std::string>& way : ways) {
    const LocalProgram program = Build(way[1], way);
    const std::string out = FreshFolder("out");
    EXPECT_EQ(Train(program, out, "--quiet").exit_code, 0);
    ExpectLosses(out);
    ExpectEnd(out + "/checkpoints");
  }
}

TEST(States, GoOnWhereTheyWere) {
  const std::string out = FreshFolder("begun");
  EXPECT_EQ(Train(Build("1", {"--devices", "1"}), out, "--quiet --steps 3").exit_code, 0);
  const LocalProgram other = Build("3", {"--devices", "3", "--set", "zero=3"});
  EXPECT_EQ(Train(other, out, "--quiet --resume").exit_code, 0);
  ExpectLosses(out);
  ExpectEnd(out + "/checkpoints");
}

TEST(States, TakeThePlaceOfStatisticsInPrograms) {
  for (const char* const ranks : {"1", "2"}) {
    const LocalProgram program = Build(absl::StrCat("predict_", ranks), {"--mode", "predict", "--output", "out",
                                                                         "--devices", ranks, "--set", "batch=20"});
    const std::string out = FreshFolder("predicted");
    const CommandResult ran = Train(program, out, absl::StrCat("--params ", DataPath(kData + "end.safetensors")));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const std::string expected = FreshFolder("expected");
    WriteText(expected + "/out.npy", ReadText(DataPath(kData + "out.npy")));
    const CommandResult diff =
        RunCommand({DataPath("tools/cleave"), "weights", "diff", out, expected, "--tolerance", kTolerance});
    EXPECT_EQ(diff.exit_code, 0) << diff.out << diff.err;
  }
}

}  // namespace
}  // namespace cleave::tests
