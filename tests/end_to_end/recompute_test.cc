// Models that do not fit into memory as they are, and therefore make values again in the backward pass or take their
// batch in micro-batches, train with the same numbers, within the limit, and in the memory that plan.json predicts.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr size_t kSteps = 12;
constexpr double kTolerance = 1e-4;
constexpr int kDoesNotFit = 4;  // The exit code of the compiler.

using Settings = std::vector<std::string>;

struct Example {
  std::string model;
  int ranks = 1;
  Settings settings = {};  // `--set` options.
  std::string search = "sapp";
};

struct Trained {
  std::vector<double> losses;
  double predicted = 0;  // Bytes of the rank that needs most.
  double measured = 0;
  int64_t micro_batches = 1;
  int64_t made_again = 0;  // Ops that are computed again, or whose values are sent again.
  Json cuts;               // How the ops are cut.
};

// All programs are built in one folder, so they share the objects of the runtime.
const std::string& Folder() {
  static const auto* const folder = new std::string(FreshFolder("recompute"));
  return *folder;
}

CommandResult Plan(const Example& example, const Settings& more) {
  std::vector<std::string> arguments = {DataPath(example.model),
                                        "--devices",
                                        absl::StrCat(example.ranks),
                                        "--search",
                                        example.search,
                                        "--out",
                                        Folder(),
                                        "--quiet"};
  for (const Settings& settings : {example.settings, more, Settings{"log_every=1"}}) {
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  }
  return Compile(arguments, "");
}

void ReadPlan(Trained& trained) {
  const Json plan = *ParseStrictJson(ReadText(Folder() + "/plan.json"));
  trained.predicted = plan["predicted"]["memory_per_rank"]["peak"].get<double>();
  trained.micro_batches = plan["micro_batches"].get<int64_t>();
  for (const Json& op : plan["ops"]) {
    if (op["recompute"].get<bool>() || op["gather_again"].get<bool>()) ++trained.made_again;
    trained.cuts.push_back(
        {op["name"], op["factors"], op["in_strategy"], op["out_strategy"], op["partial"], op["passes"]});
  }
}

// Builds and runs the program that Plan has written.
Trained BuildAndRun() {
  Trained trained;
  const CommandResult built = MakeLocal(Folder());
  EXPECT_EQ(built.exit_code, 0) << built.err;
  if (built.exit_code != 0) return trained;
  const CommandResult ran = StartLocal(Folder(), {"--steps", absl::StrCat(kSteps), "--quiet"}, {"OMP_NUM_THREADS=1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  if (ran.exit_code != 0) return trained;
  trained.losses = Losses(Folder());
  EXPECT_EQ(trained.losses.size(), kSteps);
  const Json run = *ParseStrictJson(ReadText(Folder() + "/run.json"));
  for (const Json& rank : run["peak_memory_bytes"]) {
    trained.measured = std::max(trained.measured, rank.get<double>());
  }
  ReadPlan(trained);
  EXPECT_NEAR(trained.predicted / trained.measured, 1, 0.02);
  return trained;
}

Trained Train(const Example& example, const Settings& more) {
  const CommandResult planned = Plan(example, more);
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  return planned.exit_code == 0 ? BuildAndRun() : Trained();
}

// Programs that differ only in what they make again compute the same to the bit. Where the batch or tensors are cut in
// another way, sums are rounded in another order.
void ExpectSameNumbers(const Trained& own, const Trained& whole) {
  if (own.micro_batches == whole.micro_batches && own.cuts == whole.cuts) {
    EXPECT_EQ(own.losses, whole.losses);
  } else {
    EXPECT_LE(LargestRelativeDifference(own.losses, whole.losses), kTolerance);
  }
}

// The bytes that E0313 says the smallest plan needs.
int64_t SmallestOf(const CommandResult& refused) {
  const absl::string_view kBefore = "the smallest plan needs ";
  const size_t begin = refused.err.find(kBefore.data());
  EXPECT_NE(begin, std::string::npos) << refused.err;
  if (begin == std::string::npos) return 0;
  const size_t digits = begin + kBefore.size();
  int64_t bytes = 0;
  EXPECT_TRUE(absl::SimpleAtoi(refused.err.substr(digits, refused.err.find(' ', digits) - digits), &bytes));
  return bytes;
}

// Plans for `limit` bytes, or, where no plan fits, for the least that is said to be needed. Returns the limit.
int64_t PlanWithin(const Example& example, int64_t limit, Settings more) {
  const auto plan = [&](int64_t bytes) {
    Settings own = more;
    own.push_back(absl::StrCat("memory=", bytes, "B"));
    return Plan(example, own);
  };
  const CommandResult planned = plan(limit);
  if (planned.exit_code == 0) return limit;
  EXPECT_EQ(planned.exit_code, kDoesNotFit) << planned.err;
  const int64_t smallest = SmallestOf(planned);
  EXPECT_GT(smallest, limit);
  const CommandResult again = plan(smallest);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  return smallest;
}

// What programs within limits have done in order to fit.
struct Means {
  bool makes_again = false;
  bool takes_parts = false;
};

// Trains within these percents of the memory that `example` takes without a limit; where recomputation alone does
// not reach that, within the least that it reaches, and then with micro-batches.
Means TrainWithinLimits(const Example& example, const std::vector<int>& percents) {
  const Trained whole = Train(example, {"memory=64GiB"});
  EXPECT_EQ(whole.micro_batches, 1);
  Means means;
  const auto run = [&](int64_t limit) {
    SCOPED_TRACE(absl::StrCat("memory = ", limit, " of ", whole.predicted));
    const Trained own = BuildAndRun();
    EXPECT_LE(own.measured, static_cast<double>(limit));
    ExpectSameNumbers(own, whole);
    means.makes_again |= own.made_again > whole.made_again;
    means.takes_parts |= own.micro_batches > 1;
    return own.measured;
  };
  double least = whole.measured;  // Of a program without micro-batches.
  bool takes_parts = false;
  for (const int percent : percents) {
    const auto limit = static_cast<int64_t>(whole.predicted) * percent / 100;
    if (!takes_parts) {
      const int64_t reached = PlanWithin(example, limit, {});
      if (static_cast<double>(reached) < least) least = run(reached);
      takes_parts = reached > limit;
      if (!takes_parts) continue;
    }
    run(PlanWithin(example, limit, {"micro_batches=auto"}));
  }
  return means;
}

const Settings kSmallGpt = {"batch=16", "seq=32", "width=64", "vocab=160"};
const Settings kSmallCnn = {"batch=32", "data=digits(train = 384, test = 16)"};

class Recompute : public testing::TestWithParam<int> {};

TEST_P(Recompute, LanguageModelTrainsWithinLimits) {
  const Means means = TrainWithinLimits({"examples/tiny_gpt/tiny_gpt.model", GetParam(), kSmallGpt}, {60, 30});
  EXPECT_TRUE(means.makes_again);
  EXPECT_TRUE(means.takes_parts);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Recompute, testing::Values(1, 4));

TEST(RecomputeMore, ImageModelTrainsWithinLimits) {
  if (!__builtin_cpu_supports("avx512f")) {
    GTEST_SKIP() << "images in blocks are copied on this processor (docs/memory.md)";
  }
  const Means means = TrainWithinLimits({"examples/mnist_cnn/mnist_cnn.model", 2, kSmallCnn}, {30});
  EXPECT_TRUE(means.takes_parts);
}

// Parameters are gathered for the forward pass and again for the backward pass.
TEST(RecomputeMore, ShardedParametersTrainWithinLimits) {
  Settings settings = kSmallGpt;
  settings.push_back("zero=3");
  const Means means = TrainWithinLimits({"examples/tiny_gpt/tiny_gpt.model", 2, settings, "data_parallel"}, {60});
  EXPECT_TRUE(means.makes_again);
}

TEST(RecomputeMore, DropoutDropsTheSameElements) {
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(absl::StrCat(ranks, " ranks"));
    const Example example = {"tests/end_to_end/dropped_layers.model", ranks, {}, "data_parallel"};
    const Trained kept = Train(example, {"recompute=none"});
    const Trained again = Train(example, {"recompute=full"});
    EXPECT_GE(again.made_again, 7);
    EXPECT_LT(again.measured, kept.measured);
    EXPECT_EQ(again.cuts, kept.cuts);
    ExpectSameNumbers(again, kept);
    ExpectSameNumbers(Train(example, {"recompute=full", "micro_batches=5"}), kept);
  }
}

}  // namespace
}  // namespace cleave::tests
