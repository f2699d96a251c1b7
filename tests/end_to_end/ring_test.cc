// Attention whose keys go round trains with the losses of one rank.
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

// One sequence and one head: only its rows can be cut.
constexpr char kModel[] = R"(
model Ring {
    input tokens: i32[1, 24];
    input next: i32[1, 24];
    let x = block(embedding(tokens, 17, 16) + position(24, 16), 1);
    loss cross_entropy(dense(layer_norm(x), 17), next);
}
train Ring {
    data = synthetic();
    optimizer = adamw(lr = 0.01);
    steps = 5;
    log_every = 1;
}
parallel {
    ring_attention = all;
    leave_idle = false;
}
)";

std::vector<double> LossesOn(int devices, const std::string& folder) {
  std::ofstream(folder + "/ring.model") << kModel;
  const std::string out = folder + "/out";
  const CommandResult compiled =
      Compile({folder + "/ring.model", "--devices", std::to_string(devices), "--out", out, "--quiet"}, "");
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  const CommandResult built = Make(out, {"COMM=local"});
  EXPECT_EQ(built.exit_code, 0) << built.err;
  const CommandResult ran = RunCommand({"./run.sh", "--launch", "local", "--quiet"}, out, {"OMP_NUM_THREADS=1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  return ran.exit_code == 0 ? Losses(out) : std::vector<double>();
}

TEST(RingTest, TrainsAsOneRankDoes) {
  const std::string folder = FreshFolder("ring");
  const std::vector<double> expected = LossesOn(1, folder);
  ASSERT_EQ(expected.size(), 5);
  const std::vector<double> losses = LossesOn(4, folder);
  std::ifstream program(folder + "/out/program.cc");
  const std::string text((std::istreambuf_iterator<char>(program)), std::istreambuf_iterator<char>());
  EXPECT_NE(text.find("pieces go round"), std::string::npos) << "nothing goes round";
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t step = 0; step < losses.size(); ++step) EXPECT_NEAR(losses[step], expected[step], 1e-4);
}

}  // namespace
}  // namespace cleave::tests
