// The promise of the whole: any plan on any number of ranks trains with the numbers of one rank.
//
// Each case compiles a model for a number of ranks, builds the program, runs it under mpirun and compares the loss of
// every step with the single-rank run. Tolerance: 1e-4 relative, which float rounding stays far below in so few steps.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave {
namespace {

constexpr double kTolerance = 1e-4;

// One output folder per model: the runtime is built once, only program.cc changes between plans.
class SameNumbers : public testing::Test {
 protected:
  std::vector<double> Train(const std::string& model, int ranks, std::vector<std::string> arguments) {
    if (folder_.empty()) folder_ = FreshFolder("same_numbers");
    arguments.insert(arguments.begin(),
                     {DataPath(model), "--devices", std::to_string(ranks), "--out", folder_ + "/out"});
    const CommandResult compiled = Compile(arguments, folder_);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
    const CommandResult built = Make(folder_ + "/out");
    EXPECT_EQ(built.exit_code, 0) << built.err;
    const CommandResult ran = Start(folder_ + "/out", {"--steps", "20"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    return ran.exit_code == 0 ? Losses(folder_ + "/out") : std::vector<double>{};
  }

  void ExpectSame(const std::string& model, const std::vector<int>& rank_counts,
                  const std::vector<std::vector<std::string>>& plans) {
    const std::vector<double> one = Train(model, 1, {});
    ASSERT_EQ(one.size(), 20u);
    EXPECT_LT(one.back(), one.front()) << "the model does not learn, so equal losses would mean little";
    for (const int ranks : rank_counts) {
      for (const std::vector<std::string>& plan : plans) {
        std::string shown;
        for (const std::string& word : plan) shown += " " + word;
        EXPECT_LE(LargestRelativeDifference(Train(model, ranks, plan), one), kTolerance) << ranks << " ranks," << shown;
      }
    }
  }

  std::string folder_;
};

TEST_F(SameNumbers, MnistMlp) {
  ExpectSame("examples/mnist_mlp/mnist_mlp.model", {2, 3, 7, 8}, {{"--search", "sapp"}, {"--search", "data_parallel"}});
}

TEST_F(SameNumbers, PinnedPlansOfTheMlp) {
  // The contracted dimension cut, columns cut, and a mixture with an `out` layout.
  ExpectSame("tests/end_to_end/pinned_contracted.model", {8}, {{}});
  ExpectSame("tests/end_to_end/pinned_columns.model", {6}, {{}});
  ExpectSame("tests/end_to_end/pinned_mixed.model", {4}, {{}});
}

TEST_F(SameNumbers, SappMlp) { ExpectSame("examples/sapp_mlp/sapp_mlp.model", {8}, {{"--search", "sapp"}}); }

TEST_F(SameNumbers, TinyGpt) {
  ExpectSame("examples/tiny_gpt/tiny_gpt.model", {4, 6}, {{"--search", "sapp"}, {"--search", "data_parallel"}});
}

}  // namespace
}  // namespace cleave
