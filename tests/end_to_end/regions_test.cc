// Models with regions on many ranks train with the numbers of the same model without regions on one rank.
#include <cstddef>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr double kTolerance = 1e-4;
constexpr size_t kSteps = 12;

// The model's text without its `#[region…]` attributes.
std::string WithoutRegions(std::string text) {
  const std::string start = "#[region";
  for (size_t begin = text.find(start); begin != std::string::npos; begin = text.find(start)) {
    int depth = 0;
    size_t end = begin + 1;
    do {
      depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
      ++end;
    } while (depth > 0);
    text.erase(begin, end - begin);
  }
  return text;
}

class RegionsRun : public testing::Test {
 protected:
  RegionsRun() : folder_(FreshFolder("regions")) {}

  std::vector<double> Train(const std::string& path, const std::vector<std::string>& arguments) {
    return TrainModel(path, arguments, folder_, kSteps).losses;
  }

  // Losses of the same model without regions on one rank.
  std::vector<double> OneRank(const std::string& model) {
    const std::string path = folder_ + "/one.model";
    WriteText(path, WithoutRegions(ReadText(DataPath(model))));
    const std::vector<double> one = Train(path, {"--devices", "1"});
    EXPECT_EQ(one.size(), kSteps);
    EXPECT_LT(one.back(), one.front()) << "the model does not learn, so equal losses would mean little";
    return one;
  }

  void ExpectSame(const std::string& model, const std::vector<std::vector<std::string>>& plans) {
    const std::vector<double> one = OneRank(model);
    for (const std::vector<std::string>& plan : plans) {
      std::string shown = model;
      for (const std::string& word : plan) shown += " " + word;
      EXPECT_LE(LargestRelativeDifference(Train(DataPath(model), plan), one), kTolerance) << shown;
    }
  }

  std::string folder_;
};

TEST_F(RegionsRun, TwoObjectives) {
  ExpectSame("examples/regions/regions.model", {{}, {"--set", "outside=search", "--set", "dataset=data_parallel"}});
}

TEST_F(RegionsRun, AFunctionOfTensors) {
  ExpectSame("examples/region_function/region_function.model", {{}, {"--search", "propagate"}});
}

// A weight that is read inside several regions and outside, regions in a loop, `vmap` inside a region; uneven slices.
TEST_F(RegionsRun, SharedWeights) { ExpectSame("tests/end_to_end/bordered.model", {{}, {"--search", "propagate"}}); }

TEST_F(RegionsRun, ExplainNamesRegions) {
  const CommandResult explained =
      Compile({DataPath("examples/regions/regions.model"), "--plan-only", "--explain"}, folder_);
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  for (const char* text :
       {"inside region `features` (objective memory)", "inside region `mixed` (objective compute_to_communication)",
        "outside of regions ops are replicated"}) {
    std::string joined = explained.out;
    for (size_t at = joined.find("\n  "); at != std::string::npos; at = joined.find("\n  ")) joined.replace(at, 3, " ");
    EXPECT_NE(joined.find(text), std::string::npos) << text << "\n" << explained.out;
  }
}

TEST_F(RegionsRun, ADeviceThatIsNotTheTargetIsRefused) {
  WriteText(folder_ + "/gpu.model",
            "model M() { input x: f32[8, 6]; let y = #[region(device = gpu)] dense(x, 4); loss reduce_mean(y); }\n");
  const CommandResult compiled = Compile({"gpu.model", "--plan-only"}, folder_);
  EXPECT_EQ(compiled.exit_code, 3);
  EXPECT_NE(compiled.err.find("E0324"), std::string::npos) << compiled.err;
}

}  // namespace
}  // namespace cleave::tests
