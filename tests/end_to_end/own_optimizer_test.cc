// An optimizer that the model itself defines, with sums over whole parameters: the same losses and states on any number
// of ranks, also where states and parameters are divided among them.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json/json.h"
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

// A number of a flag is as good as that of the model: of the optimizer, of the learning rate, and of the scale of the
// loss, which is among the states that are compared.
TEST(OwnOptimizer, TakesNumbersOfFlags) {
  const LocalProgram program =
      BuildLocal("own_3", "tests/end_to_end/own_optimizer.model", {"--devices", "3", "--set", "zero=3"});
  const std::string out = FreshFolder("own_flags");
  const CommandResult ran = Train(program, out,
                                  "--checkpoint-every 12 --set optimizer.keep=0.6 --set optimizer.lr.decay=6 --lr 0.04 "
                                  "--set loss_scale.initial=64 --set loss_scale.interval=3");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ExpectSameTraining(
      TrainWith("own_other",
                {"--devices", "1", "--set",
                 "optimizer=clipped(lr = warmup_stable_decay(0.04, steps = 12, warmup = 3, decay = 6), keep = 0.6)",
                 "--set", "loss_scale=dynamic(initial = 64.0, interval = 3)"}),
      out);
  const Json numbers = (*ParseStrictJson(ReadText(out + "/run.json")))["numbers"];
  EXPECT_EQ(numbers["optimizer.keep"], 0.6);
  EXPECT_EQ(numbers["optimizer.lr.warmup"], 3);
  EXPECT_EQ(numbers["loss_scale.initial"], 64);
  const std::pair<const char*, const char*> mistakes[] = {
      {"optimizer.lr.warmup=0", "`warmup` must be at least 1, not 0"},
      {"loss_scale.growth=1", "`growth` must be more than 1, not 1"},
      {"loss_scale.initial=1e39", "`initial` must be finite, not 1e+39"},
      {"optimizer.lr.warmup=2.5", "`optimizer.lr.warmup` must be a whole number, not 2.5"},
      {"optimizer.lr.decay=10", "`warmup` and `decay` take more than 12 steps"},
      {"optimizer.kep=1",
       "`--set` changes no `optimizer.kep`; did you mean `optimizer.keep`? There is `loss_scale.backoff`, "}};
  for (const auto& [flag, message] : mistakes) {
    const CommandResult refused = Train(program, FreshFolder("own_refused"), absl::StrCat("--set ", flag));
    EXPECT_EQ(refused.exit_code, 2) << flag;
    EXPECT_TRUE(absl::StrContains(refused.err, message)) << refused.err;
  }
}

TEST(OwnOptimizer, OneOfThePreludeWithProductsDoesToo) {
  const std::vector<std::string> muon = {"--set", "optimizer=muon(lr = 0.02)"};
  const std::string one = TrainWith("muon_1", {"--devices", "1", muon[0], muon[1]});
  ExpectSameTraining(
      TrainWith("muon_4", {"--devices", "4", "--set", "zero=3", "--set", "micro_batches=2", muon[0], muon[1]}), one);
  // Every rank computes all of what is between the products.
  ExpectSameTraining(
      TrainWith("muon_3", {"--devices", "3", "--set", "zero=1", "--set", "cost=bytes", muon[0], muon[1]}), one);
}

}  // namespace
}  // namespace cleave::tests
