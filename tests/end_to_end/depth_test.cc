// Programs have as many lines at any depth, whatever the settings of their model: equal layers have one plan, are
// ordered alike, and are written once; so are equal stages.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

struct Case {
  std::string model;
  std::vector<std::string> arguments;
  int depth = 12;  // From which on lines do not grow.
};

double LinesAt(int depth, const Case& of) {
  std::vector<std::string> arguments = {DataPath(of.model), "--emit", "source", "--set", absl::StrCat("depth=", depth),
                                        "--quiet"};
  arguments.insert(arguments.end(), of.arguments.begin(), of.arguments.end());
  const CommandResult result = Compile(arguments, FreshFolder("depth"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return static_cast<double>(std::count(result.out.begin(), result.out.end(), '\n'));
}

TEST(DepthTest, LinesDoNotGrowWithIt) {
  const std::vector<Case> cases = {
      // Iterations in each update.
      {"examples/tiny_gpt/tiny_gpt.model", {"--devices", "2", "--set", "optimizer=muon(lr = 0.001)"}},
      // Steps that are moved for less memory.
      {"examples/vit/vit.model", {"--devices", "1", "--set", "recompute=full"}, 24},
      // Layers in many pieces.
      {"examples/tiny_gpt/tiny_gpt.model", {"--devices", "8", "--set", "zero=1"}},
      // A model of which few layers are searched.
      {"examples/vit/vit.model", {"--devices", "2"}},
  };
  for (const Case& of : cases) {
    const double flat = LinesAt(of.depth, of);
    EXPECT_LE(LinesAt(2 * of.depth, of), 1.05 * flat) << of.model << " " << absl::StrJoin(of.arguments, " ");
  }
}

// Those in the middle of a pipeline are one text.
TEST(DepthTest, LinesDoNotGrowWithStages) {
  const auto lines = [](int stages) {
    return LinesAt(2 * stages, {"examples/tiny_gpt/tiny_gpt.model",
                                {"--devices", absl::StrCat(stages), "--set", absl::StrCat("stages=", stages), "--set",
                                 "micro_batches=32"}});
  };
  EXPECT_LE(lines(16), 1.1 * lines(4));
}

}  // namespace
}  // namespace cleave::tests
