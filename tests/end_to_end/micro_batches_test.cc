// A model that takes its batch in micro-batches trains with the numbers of one that does not, in less memory.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr size_t kSteps = 8;
constexpr double kTolerance = 1e-4;

struct Trained {
  std::vector<double> losses;
  double activations = 0;  // Bytes, predicted.
  int64_t times = 0;       // That ranks send something in a step.
};

Trained Train(const std::string& folder, const std::vector<std::string>& arguments, int64_t micro_batches) {
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"--set", absl::StrCat("micro_batches=", micro_batches), "--set", "log_every=1"});
  Trained trained{.losses = TrainModel(DataPath("examples/tiny_gpt/tiny_gpt.model"), all, folder, kSteps).losses};
  const Json plan = *ParseStrictJson(ReadText(folder + "/out/plan.json"));
  EXPECT_EQ(plan["micro_batches"].get<int64_t>(), micro_batches);
  trained.activations = plan["predicted"]["memory_per_rank"]["activations"].get<double>();
  for (const Json& collective : plan["collectives"]) trained.times += collective["times"].get<int64_t>();
  const bool has_loop = absl::StrContains(ReadText(folder + "/out/program.cc"), "void RunPhases(");
  EXPECT_EQ(has_loop, micro_batches > 1);
  return trained;
}

// 10 samples in 4 parts are uneven, on 2 ranks too.
TEST(MicroBatches, TrainWithTheNumbersOfTheWholeBatch) {
  const std::string folder = FreshFolder("micro_batches");
  for (const std::vector<std::string>& how :
       std::vector<std::vector<std::string>>{{"--devices", "1"},
                                             {"--devices", "2", "--search", "data_parallel"},
                                             {"--devices", "2", "--search", "data_parallel", "--set", "zero=3"},
                                             {"--devices", "2", "--set", "memory=64MiB"}}) {
    std::vector<std::string> arguments = how;
    arguments.insert(arguments.end(), {"--set", "batch=10", "--set", "seq=32"});
    SCOPED_TRACE(absl::StrCat(how[1], " devices, ", how.back()));
    const Trained whole = Train(folder, arguments, 1);
    const Trained parts = Train(folder, arguments, 4);
    EXPECT_LE(LargestRelativeDifference(parts.losses, whole.losses), kTolerance);
    EXPECT_LT(parts.activations, 0.75 * whole.activations);
    if (how.size() == 4 && how[2] == "--search") {
      EXPECT_EQ(parts.times, whole.times) << "gradients are sent once";
    }
  }
}

// The statistics are those of the same samples, however many micro-batches and ranks there are.
TEST(MicroBatches, TakePartsOfTheBatchThatHaveStatisticsOfTheirOwn) {
  const std::string folder = FreshFolder("ghosts");
  const auto train = [&](const char* normalized, const std::vector<std::string>& arguments) {
    WriteText(
        folder + "/ghosts.model",
        absl::StrCat("model Ghosts(batch: int = 40) { input image: f32[batch, 1, 28, 28]; input label: i32[batch];",
                     "let h = relu(", normalized, ");", "loss cross_entropy(dense(h, 10), label); }",
                     "train Ghosts { data = digits(train = 400, test = 40); log_every = 1; }"));
    return TrainModel(folder + "/ghosts.model", arguments, folder, kSteps).losses;
  };
  const char* const of_the_batch = "batch_norm(dense(flatten(image), 20))";
  const char* const in_one_part = "ghost_batch_norm(dense(flatten(image), 20), 1)";
  const char* const in_parts = "ghost_batch_norm(dense(flatten(image), 20), 4)";
  const std::vector<double> whole = train(in_parts, {"--devices", "1"});
  for (const std::vector<std::string>& how : std::vector<std::vector<std::string>>{
           {"--devices", "1", "--set", "micro_batches=4"},
           {"--devices", "3", "--search", "data_parallel"},
           {"--devices", "2", "--search", "data_parallel", "--set", "micro_batches=2"}}) {
    SCOPED_TRACE(absl::StrCat(how[1], " devices, ", how.back()));
    EXPECT_LE(LargestRelativeDifference(train(in_parts, how), whole), kTolerance);
  }
  const std::vector<double> one_part = train(in_one_part, {"--devices", "1"});
  EXPECT_LE(LargestRelativeDifference(one_part, train(of_the_batch, {"--devices", "1"})), kTolerance);
  EXPECT_GT(LargestRelativeDifference(one_part, whole), kTolerance);
}

// A loss is divided by the number of labels that count in the whole batch, and inputs are centered by its mean.
TEST(MicroBatches, SumsOfInputsAreThoseOfTheWholeBatch) {
  const std::string folder = FreshFolder("masked");
  WriteText(folder + "/masked.model",
            R"(model Masked(batch: int = 22) {
                 input x: f32[batch, 3, 8];
                 input label: i32[batch, 3];
                 input mask: f32[batch, 3];
                 let centered = x - reduce_mean(x, axes = 0);
                 let logits = mlp(dense(centered, 12), 24);
                 loss cross_entropy(logits, label, keep = relu(mask));
                 loss 0.1 * masked_mean(reduce_mean(square(logits), axes = 2), greater(mask, 0.5));
               }
               train Masked { data = synthetic(train = 88); optimizer = adam(lr = 0.01); log_every = 1; })");
  const auto train = [&](const std::vector<std::string>& arguments) {
    return TrainModel(folder + "/masked.model", arguments, folder, kSteps).losses;
  };
  const std::vector<double> whole = train({"--devices", "1"});
  for (const std::vector<std::string>& how : std::vector<std::vector<std::string>>{
           {"--devices", "1", "--set", "micro_batches=4"},
           {"--devices", "3", "--search", "data_parallel", "--set", "zero=2", "--set", "micro_batches=5"},
           {"--devices", "4", "--set", "stages=2", "--set", "micro_batches=4"}}) {
    SCOPED_TRACE(absl::StrCat(how[1], " devices, ", how.back()));
    EXPECT_LE(LargestRelativeDifference(train(how), whole), kTolerance);
  }
}

}  // namespace
}  // namespace cleave::tests
