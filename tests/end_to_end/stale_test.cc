// run.sh builds a program again whose sources are not those that it was made from, or refuses it.
#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

namespace fs = std::filesystem;

constexpr double kRate = 0.1;
constexpr double kOtherRate = 2;

std::string ModelText(const std::string& name, double rate) {
  return "model " + name +
         "(batch: int = 32) {\n"
         "    input image: f32[batch, 1, 28, 28];\n"
         "    input label: i32[batch];\n"
         "    let logits = dense(flatten(image), 10);\n"
         "    loss cross_entropy(logits, label);\n"
         "}\n"
         "train " +
         name + " { data = digits(); optimizer = sgd(lr = " + std::to_string(rate) + "); epochs = 1; }\n";
}

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

CommandResult Shell(const std::string& folder, const std::string& command) {
  return RunCommand({"sh", "-c", command}, folder);
}

// A folder, in which a model is compiled into `out`.
class StaleTest : public testing::Test {
 protected:
  StaleTest() : folder_(FreshFolder("stale")), out_(folder_ + "/out") {}

  void Write(double rate, const std::string& model = "M", const std::string& target = "cpu") {
    WriteText(folder_ + "/m.model", ModelText(model, rate));
    const CommandResult compiled =
        Compile({"m.model", "--devices", "1", "--launch", "local", "--target", target, "--out", "out"}, folder_);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  }

  // The loss of the third step.
  double Loss() {
    const CommandResult ran = Start(out_, {"--steps", "3", "--quiet"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    const std::vector<double> losses = Losses(out_);
    EXPECT_EQ(losses.size(), 3u);
    return losses.empty() ? 0 : losses.back();
  }

  const std::string folder_;
  const std::string out_;
};

TEST_F(StaleTest, AFolderThatIsWrittenAnewRunsTheNewProgram) {
  Write(kRate);
  const double before = Loss();
  EXPECT_FALSE(Contains(Start(out_, {"--steps", "1"}).out, "g++"));
  Write(kOtherRate);
  EXPECT_NE(Loss(), before);
  Write(kRate);
  EXPECT_EQ(Loss(), before);
}

TEST_F(StaleTest, AnotherModelOrTargetRunsInTheSameFolder) {
  Write(kRate);
  const double loss = Loss();
  Write(kRate, "Other");
  EXPECT_TRUE(Contains(Start(out_, {"--steps", "1"}).out, "Other on 1 rank"));
  Write(kRate, "M", "cuda");
  const CommandResult refused = Shell(out_, "NVCC=no_such_nvcc ./run.sh --steps 1");
  EXPECT_EQ(refused.exit_code, 5) << refused.out;
  EXPECT_TRUE(Contains(refused.err, "nvcc is not there")) << refused.err;
  const CommandResult built = MakeWithStandIn(out_, {"COMM=local"});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  EXPECT_NEAR(Loss(), loss, 1e-3);
}

TEST_F(StaleTest, WhatCannotBeBuiltIsRefused) {
  Write(kRate);
  Loss();
  ASSERT_EQ(Shell(folder_,
                  "mkdir tools && for tool in sh cat ls find sort tr xargs sha256sum cut grep; do "
                  "ln -s $(command -v $tool) tools/; done")
                .exit_code,
            0);
  const std::string without_make = "PATH=" + folder_ + "/tools ./run.sh --steps 1";
  EXPECT_EQ(Shell(out_, without_make).exit_code, 0);
  Write(kOtherRate);
  const CommandResult refused = Shell(out_, without_make);
  EXPECT_EQ(refused.exit_code, 5) << refused.out;
  EXPECT_TRUE(Contains(refused.err, "program_local is not built from the sources in this folder")) << refused.err;
  const CommandResult full = Shell(out_, "ulimit -f 16; ./run.sh --steps 1");
  EXPECT_EQ(full.exit_code, 5) << full.out;
  EXPECT_TRUE(Contains(full.err, "the program could not be built")) << full.err;
  // One rank of a job builds nothing.
  const CommandResult rank = Shell(out_, "cp program_local program_gloo; RANK=0 WORLD_SIZE=1 ./run.sh");
  EXPECT_EQ(rank.exit_code, 5) << rank.out;
  EXPECT_TRUE(Contains(rank.err, "program_gloo is not built from the sources in this folder")) << rank.err;
}

}  // namespace
}  // namespace cleave::tests
