// An optimizer that the model itself defines, with sums over whole parameters: the same losses and states on any number
// of ranks, also where states and parameters are divided among them.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/resuming.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

std::string TrainWith(const std::string& name, std::vector<std::string> arguments) {
  const LocalProgram program = BuildLocal(name, "tests/end_to_end/own_optimizer.model", arguments);
  const std::string out = FreshFolder(name);
  EXPECT_EQ(Train(program, out, "--quiet --checkpoint-every 12").exit_code, 0);
  return out;
}

void ExpectSameTraining(const std::string& out, const std::string& expected) {
  const std::vector<double> losses = Losses(out), others = Losses(expected);
  ASSERT_EQ(losses.size(), 12u);
  ASSERT_EQ(others.size(), 12u);
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], others[i], 1e-5 * std::abs(others[i])) << i;
  EXPECT_LT(losses.back(), losses.front());
  const CommandResult diff = RunCommand({DataPath("tools/cleave"), "weights", "diff", out + "/checkpoints",
                                         expected + "/checkpoints", "--tolerance", "1e-4"});
  EXPECT_EQ(diff.exit_code, 0) << diff.out << diff.err;
}

TEST(OwnOptimizer, TrainsTheSameOnAnyNumberOfRanks) {
  const std::string one = TrainWith("own_1", {"--devices", "1"});
  ExpectSameTraining(TrainWith("own_3", {"--devices", "3", "--set", "zero=3"}), one);
}

TEST(OwnOptimizer, OneOfThePreludeWithProductsDoesToo) {
  const std::vector<std::string> muon = {"--set", "optimizer=muon(lr = 0.02)"};
  const std::string one = TrainWith("muon_1", {"--devices", "1", muon[0], muon[1]});
  ExpectSameTraining(
      TrainWith("muon_4", {"--devices", "4", "--set", "zero=3", "--set", "micro_batches=2", muon[0], muon[1]}), one);
}

}  // namespace
}  // namespace cleave::tests
