// The memory that plan.json predicts is what the program allocates: for every example, on several numbers of ranks,
// with every level of ZeRO, and in micro-batches.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

// The data of an example, or the size of its batch, so that two steps and the evaluation after them are short. All that
// is predicted is there still.
std::vector<std::string> Small(const std::string& model) {
  if (model == "examples/tiny_gpt/tiny_gpt.model") return {"--set", "batch=8"};
  return {"--set", "data=digits(test = 100)"};
}

// Compiles into `folder`/out, where the objects of an earlier compile are, and runs two steps: at the second one all
// memory that only grows has its final size.
void ExpectPredicted(const std::string& model, const std::vector<std::string>& flags, const std::string& folder) {
  std::vector<std::string> arguments = {DataPath(model), "--out", "out"};
  for (const std::vector<std::string>& more : {flags, Small(model)}) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  }
  std::string what = model;
  for (const std::string& flag : flags) what += " " + flag;
  const CommandResult compiled = Compile(arguments, folder);
  ASSERT_EQ(compiled.exit_code, 0) << what << "\n" << compiled.err;
  const CommandResult made = MakeLocal(folder + "/out");
  ASSERT_EQ(made.exit_code, 0) << what << "\n" << made.err;
  const CommandResult ran = StartLocal(folder + "/out", {"--steps", "2", "--quiet"});
  ASSERT_EQ(ran.exit_code, 0) << what << "\n" << ran.out << ran.err;

  const Json plan = *ParseStrictJson(ReadText(folder + "/out/plan.json"));
  const Json predicted = plan["predicted"]["memory_per_rank"];
  const Json run = *ParseStrictJson(ReadText(folder + "/out/run.json"));
  double measured = 0;
  for (const Json& rank : run["peak_memory_bytes"]) measured = std::max(measured, rank.get<double>());
  ASSERT_GT(measured, 0) << what;
  const double ratio = predicted["peak"].get<double>() / measured;
  EXPECT_NEAR(ratio, 1, 0.02) << what << ": predicted " << predicted.dump() << ", measured " << measured;
}

class MemoryTest : public ::testing::TestWithParam<std::string> {};

TEST_P(MemoryTest, IsPredicted) {
  if (GetParam() == "examples/mnist_cnn/mnist_cnn.model" && !__builtin_cpu_supports("avx512f")) {
    GTEST_SKIP() << "images in blocks are copied on this processor (docs/memory.md)";
  }
  const std::string folder = FreshFolder("memory");
  for (const char* devices : {"1", "6"}) ExpectPredicted(GetParam(), {"--devices", devices}, folder);
  ExpectPredicted(GetParam(), {"--devices", "3", "--search", "data_parallel", "--set", "zero=3"}, folder);
  ExpectPredicted(GetParam(), {"--devices", "2", "--set", "micro_batches=4", "--set", "zero=1"}, folder);
}

INSTANTIATE_TEST_SUITE_P(Examples, MemoryTest,
                         ::testing::Values("examples/custom_op/custom_op.model", "examples/mnist_cnn/mnist_cnn.model",
                                           "examples/sapp_mlp/sapp_mlp.model", "examples/tiny_gpt/tiny_gpt.model"),
                         [](const auto& info) {
                           const std::string file = info.param.substr(info.param.rfind('/') + 1);
                           return file.substr(0, file.find('.'));
                         });

}  // namespace
}  // namespace cleave::tests
