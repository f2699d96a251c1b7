// Ops that a model defines: the same numbers on any number of ranks, with their rules and without.
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr double kTolerance = 1e-4;
constexpr size_t kSteps = 12;

class CustomOps : public testing::Test {
 protected:
  void SetUp() override { folder_ = FreshFolder("custom_ops"); }

  // The losses of `model` on `ranks` ranks; the compiler's messages are kept in `said_`.
  std::vector<double> Train(const std::string& model, int ranks, std::vector<std::string> plan = {}) {
    // What is computed of test data is not compared.
    plan.insert(plan.begin(), {"--devices", std::to_string(ranks), "--set", "data=digits(test = 100)"});
    const TrainedModel trained = TrainModel(model, plan, folder_, kSteps);
    said_ = trained.diagnostics;
    return trained.losses;
  }

  // Puts the model, changed by `edit`, and its bodies into the test's folder.
  std::string Copy(bool (*keeps)(const std::string& line)) {
    std::vector<std::string> kept;
    const std::vector<std::string> lines =
        absl::StrSplit(ReadText(DataPath("tests/end_to_end/custom_ops.model")), '\n');
    for (const std::string& line : lines) {
      if (keeps(line)) kept.push_back(line);
    }
    WriteText(folder_ + "/custom_ops.model", absl::StrJoin(kept, "\n"));
    WriteText(folder_ + "/custom_ops.h", ReadText(DataPath("tests/end_to_end/custom_ops.h")));
    return folder_ + "/custom_ops.model";
  }

  std::string folder_;
  std::string said_;
};

TEST_F(CustomOps, SameNumbersOnAnyNumberOfRanks) {
  const std::string model = DataPath("tests/end_to_end/custom_ops.model");
  const std::vector<double> one = Train(model, 1);
  ASSERT_EQ(one.size(), kSteps);
  EXPECT_LT(one.back(), one.front());
  EXPECT_EQ(said_, "");
  EXPECT_LE(LargestRelativeDifference(Train(model, 3), one), kTolerance);
  EXPECT_EQ(said_, "") << "each rank has its samples";
  EXPECT_LE(LargestRelativeDifference(Train(model, 4, {"--search", "data_parallel"}), one), kTolerance);

  // Rows and columns are cut, and a sum over columns stays partial.
  const std::string pinned = Copy([](const std::string&) { return true; });
  std::ofstream(pinned, std::ios::app) << "parallel {\n    pin \"scaled.scale_rows\" = shard((2, 2), (2,));\n"
                                          "    pin \"energy.weighed_square\" = shard((2, 2));\n}\n";
  EXPECT_LE(LargestRelativeDifference(Train(pinned, 4), one), kTolerance);
}

TEST_F(CustomOps, WithoutRulesEveryRankRunsThemWhole) {
  const std::vector<double> one = Train(DataPath("tests/end_to_end/custom_ops.model"), 1);
  const std::string model = Copy([](const std::string& line) {
    return !absl::StrContains(line, "rule = ") && !absl::StrContains(line, "whole = ");
  });
  // The inputs are gathered from any layout of the neighbours; also where only the batch is cut.
  EXPECT_LE(LargestRelativeDifference(Train(model, 3, {"--search", "data_parallel"}), one), kTolerance);
  EXPECT_LE(LargestRelativeDifference(Train(model, 4), one), kTolerance);
  for (const char* op : {"scaled.scale_rows", "centered.centre", "energy.weighed_square", "logits.soft_cap"}) {
    EXPECT_TRUE(absl::StrContains(said_, absl::StrCat("warning[W0604]: `", op, "`"))) << said_;
  }
}

// The body is called for each of four elements, of which ranks hold some, or parts of each.
TEST_F(CustomOps, MappedOverElements) {
  const std::string model = DataPath("tests/end_to_end/custom_ops.model");
  const std::vector<double> one = Train(model, 1);
  const std::string mapped = Copy([](const std::string&) { return true; });
  WriteText(mapped,
            absl::StrReplaceAll(ReadText(mapped),
                                {{"scale_rows(h, scale, 1.5);",
                                  "reshape(vmap(scale_rows, axes = (0, _, _))(reshape(h, (4, 6, width)), scale, 1.5), "
                                  "(batch, width));"},
                                 {"weighed_square(scaled, 2);",
                                  "reshape(vmap(weighed_square)(reshape(scaled, (4, 6, width)), 2), (batch,));"}}));
  for (const int ranks : {1, 4}) {
    EXPECT_LE(LargestRelativeDifference(Train(mapped, ranks), one), kTolerance) << ranks << " ranks";
    EXPECT_EQ(said_, "");
  }
  std::ofstream(mapped, std::ios::app) << "parallel {\n    pin \"scaled.scale_rows\" = shard((2, 1, 2), (2,));\n"
                                          "    pin \"energy.weighed_square\" = shard((1, 2, 2));\n}\n";
  EXPECT_LE(LargestRelativeDifference(Train(mapped, 4), one), kTolerance);
}

TEST_F(CustomOps, TheExample) {
  const std::string model = DataPath("examples/custom_op/custom_op.model");
  const std::vector<double> one = Train(model, 1);
  EXPECT_LT(one.back(), one.front());
  EXPECT_LE(LargestRelativeDifference(Train(model, 4), one), kTolerance);
}

// A change of the example's header that the C++ compiler refuses.
struct Mistake {
  std::vector<std::pair<std::string, std::string>> edits;
  std::string place;  // In the message.
  std::string said;
};

TEST_F(CustomOps, MistakesInTheirBodiesAreTheUsers) {
  WriteText(folder_ + "/custom_op.model", ReadText(DataPath("examples/custom_op/custom_op.model")));
  const std::string right = ReadText(DataPath("examples/custom_op/soft_cap.h"));
  const std::vector<Mistake> mistakes = {
      {{{"tanh(x[i] / cap);\n}", "tanh(x[i] / cpa);\n}"}}, "soft_cap.h:11:3", "'cpa' was not declared in this scope"},
      {{{"x, float cap, View<float> y) {", "x, View<float> y, float cap) {"}},
       "soft_cap.h:10:1",
       "could not convert '2.0e+1f' from 'float'"},
      {{{"(1 - t * t);\n  }\n}", "(1 - t * t);\n}"}}, "soft_cap.h:15:1", "expected '}' at end of input"},
  };
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.said);
    WriteText(folder_ + "/soft_cap.h", absl::StrReplaceAll(right, mistake.edits));
    const CommandResult result = Compile({"custom_op.model", "--run", "--launch", "local", "--steps", "1"}, folder_);
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_TRUE(absl::StartsWith(result.err, "error[E0522]: `soft_cap.h` does not compile\n")) << result.err;
    EXPECT_TRUE(absl::StrContains(result.err, absl::StrCat("--> ", mistake.place))) << result.err;
    EXPECT_TRUE(absl::StrContains(result.err, mistake.said)) << result.err;
    EXPECT_FALSE(absl::StrContains(result.err, "internal error")) << result.err;
  }
  // The script that builds says the same in its way.
  const CommandResult script = RunCommand({"./run.sh", "--launch", "local"}, folder_ + "/out/custom_op");
  EXPECT_EQ(script.exit_code, 3) << script.err;
  EXPECT_TRUE(absl::StrContains(script.err, "run.sh: the C++ body of an op does not compile\n")) << script.err;
}

// What a body calls and no library has is found when the program is linked.
TEST_F(CustomOps, ABodyThatCallsNothingIsTheUsers) {
  WriteText(folder_ + "/custom_op.model", ReadText(DataPath("examples/custom_op/custom_op.model")));
  WriteText(folder_ + "/soft_cap.h",
            absl::StrReplaceAll(ReadText(DataPath("examples/custom_op/soft_cap.h")),
                                {{"// y = cap", "float capped(float);\n\n// y = cap"},
                                 {"tanh(x[i] / cap);\n}\n\n//", "tanh(capped(x[i] / cap));\n}\n\n//"}}));
  const CommandResult result = Compile({"custom_op.model", "--run", "--launch", "local", "--steps", "1"}, folder_);
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_TRUE(absl::StrContains(result.err, "error[E0522]: `soft_cap.h` does not compile\n")) << result.err;
  const CommandResult script = RunCommand({"./run.sh", "--launch", "local"}, folder_ + "/out/custom_op");
  EXPECT_EQ(script.exit_code, 3) << script.err;
  EXPECT_TRUE(absl::StrContains(script.err, "run.sh: the C++ body of an op does not compile\n")) << script.err;
}

TEST_F(CustomOps, OtherErrorsOfABuildAreInternal) {
  WriteText(folder_ + "/vector", "#error this library is broken\n");
  const CommandResult result = RunCommand(
      {DataPath("tools/compile"), DataPath("examples/custom_op/custom_op.model"), "--run", "--launch", "local"},
      folder_, {absl::StrCat("CPLUS_INCLUDE_PATH=", folder_)});
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_TRUE(absl::StrContains(result.err, "error: #error this library is broken")) << result.err;
  EXPECT_TRUE(absl::StrContains(result.err, "internal error: the generated program does not build")) << result.err;
  EXPECT_FALSE(absl::StrContains(result.err, "E0522")) << result.err;
}

}  // namespace
}  // namespace cleave::tests
