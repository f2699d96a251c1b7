// Prints, assertions and metrics take values where and as they lie: they change no plan, and nothing is sent for them
// in a step.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr char kNetwork[] = R"(model Network(batch: int = 8) {
    input x: f32[batch, 8];
    input label: i32[batch];
    param w: f32[8, 8] = xavier_uniform();
    let h = PIN matmul(x, w);
    let y = relu(h);
    let logits = dense(y, 4);
    loss cross_entropy(logits, label); LOOKS
}
train Network { data = synthetic(train = 16, test = 8); optimizer = momentum(lr = 0.1); epochs = 1; log_every = 1; }
)";

std::string Network(const std::string& looks, const std::string& pin = "") {
  return absl::StrReplaceAll(kNetwork, {{"PIN ", pin}, {"LOOKS", looks}});
}

class Looks : public testing::Test {
 protected:
  static void SetUpTestSuite() { folder_ = FreshFolder("looks"); }

  // Compiles `text`, and returns what the compiler wrote to its standard output.
  std::string CompileText(const std::string& text, const std::vector<std::string>& arguments) {
    WriteText(folder_ + "/m.model", text);
    std::vector<std::string> command = {"m.model"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const CommandResult compiled = Compile(command, folder_);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
    return compiled.out;
  }

  // The ops of the plan, by name, without what depends on the numbers of ops or of lines.
  std::map<std::string, std::string> PlanOf(const std::string& text, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--emit", "plan"});
    const absl::StatusOr<Json> plan = ParseStrictJson(CompileText(text, arguments));
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::map<std::string, std::string> ops;
    if (!plan.ok()) return ops;
    for (const Json& op : plan->at("ops")) {
      if (op.at("phase") != "metric") ops[op.at("name").get<std::string>()] = JsonLine(op);
    }
    // What metrics need, and an expression that is only printed, comes on top.
    for (const Json& collective : plan->at("collectives")) {
      const std::string tensor = collective.at("tensors").at(0).get<std::string>();
      const bool is_of_expression = absl::StartsWith(tensor, "softmax") || absl::StartsWith(tensor, "reduce_");
      if (collective.at("phase") != "metric" && !is_of_expression)
        absl::StrAppend(&ops["the collectives"], JsonLine(collective), "\n");
    }
    ops["the cost"] = JsonLine(plan->at("search").at("cost"));
    return ops;
  }

  // Builds and starts the program, and returns what rank 0 printed.
  std::string Run() {
    const CommandResult built = MakeLocal(folder_ + "/out");
    EXPECT_EQ(built.exit_code, 0) << built.err;
    const CommandResult ran = StartLocal(folder_ + "/out");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.out;
  }

  std::string SentBytes() {
    const absl::StatusOr<Json> run = ParseStrictJson(ReadText(folder_ + "/out/run.json"));
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? JsonLine(run->at("sent_bytes")) : "";
  }

  static std::string folder_;
};

std::string Looks::folder_;

TEST_F(Looks, DataParallelTrainingShowsWhatEachRankHolds) {
  const std::vector<std::string> plan = {"--devices", "2", "--search", "data_parallel", "--out", "out"};
  CompileText(Network(""), plan);
  EXPECT_FALSE(absl::StrContains(ReadText(folder_ + "/out/program.cc"), "observer"));
  Run();
  const std::string sent = SentBytes();
  const std::vector<double> losses = Losses(folder_ + "/out");
  CompileText(Network("print(x); print(local x); assert_finite(h); print(local reduce_sum(y));"), plan);
  const std::string out = Run();
  EXPECT_EQ(SentBytes(), sent);
  EXPECT_EQ(Losses(folder_ + "/out"), losses);
  for (const std::string place : {"m.model:8", "m.model:8, test"}) {  // The test part has one batch.
    for (const std::string headline : {"x [8, 8]", "x[0:4, 0:8] of [8, 8] on rank 0", "x[4:8, 0:8] of [8, 8] on rank 1",
                                       "reduce_sum[] of [] on rank 0, part 0 of 2 of the sum",
                                       "reduce_sum[] of [] on rank 1, part 1 of 2 of the sum"}) {
      EXPECT_TRUE(absl::StrContains(out, absl::StrCat(headline, " (", place, ") =\n"))) << headline << "\n" << out;
    }
  }
}

// The whole tensor is the same whichever plan there is, and the slices are those of the dumps.
TEST_F(Looks, SlicesAreThoseOfTheDumps) {
  const std::string looks = "print(x); print(local x); print(h); print(local h);";
  CompileText(Network(looks), {"--devices", "1", "--out", "out"});
  const std::string one = Run();
  const std::string whole = one.substr(one.find("x [8, 8]"), one.find("x[0:8") - one.find("x [8, 8]"));
  ASSERT_TRUE(absl::StrContains(whole, "[["));
  CompileText(Network(looks, "#[shard((2, 1), (1, 4))] "), {"--devices", "8", "--out", "out"});
  const std::string out = Run();
  EXPECT_TRUE(absl::StrContains(out, whole)) << out;
  for (int rank = 0; rank < 8; ++rank) {
    const int row = rank / 4 * 4, column = rank % 4 * 2;
    EXPECT_TRUE(absl::StrContains(out, absl::StrCat("x[", row, ":", row + 4, ", 0:8] of [8, 8] on rank ", rank, " (")))
        << out;
    EXPECT_TRUE(absl::StrContains(
        out, absl::StrCat("h.matmul[", row, ":", row + 4, ", ", column, ":", column + 2, "] of [8, 8] on rank ", rank)))
        << out;
    const std::string dump = ReadText(absl::StrCat(folder_, "/out/rank_", rank, "/program.ir"));
    EXPECT_TRUE(absl::StrContains(dump, ": f32[4, 8] = input()")) << dump;
    EXPECT_TRUE(absl::StrContains(dump, ": f32[4, 2] = matmul(")) << dump;
  }
}

// What a run has printed of tensors: headlines and elements.
std::vector<std::string> ShownIn(const std::string& out) {
  std::vector<std::string> shown;
  bool goes_on = false;
  for (const absl::string_view line : absl::StrSplit(out, '\n')) {
    const bool is_headline = absl::EndsWith(line, ") =");
    if (is_headline || goes_on) shown.emplace_back(line);
    goes_on = is_headline || (goes_on && absl::EndsWith(line, ","));
  }
  return shown;
}

// 8 samples in 3 parts on 2 ranks. The numbers are not rounded: inputs and their extremes.
TEST_F(Looks, TensorsOfMicroBatchesAreThoseOfTheBatch) {
  const std::string looks = "print(x); print(relu(x)); print(reduce_max(x)); print(reduce_min(x)); assert_finite(h);";
  const std::vector<std::string> plan = {"--devices", "2", "--search", "data_parallel", "--out", "out"};
  CompileText(Network(looks), plan);
  const std::vector<std::string> whole = ShownIn(Run());
  ASSERT_GT(whole.size(), 40u);
  std::vector<std::string> in_parts = plan;
  in_parts.insert(in_parts.end(), {"--set", "micro_batches=3"});
  CompileText(Network(looks), in_parts);
  EXPECT_EQ(ShownIn(Run()), whole);
}

TEST_F(Looks, PiecesOfMicroBatchesAreShownOneByOne) {
  CompileText(Network("print(local x); print(local reduce_sum(x));"),
              {"--devices", "1", "--set", "micro_batches=2", "--out", "out"});
  const std::string out = Run();
  for (const std::string headline : {"x[0:4, 0:8] of [8, 8] on rank 0", "x[4:8, 0:8] of [8, 8] on rank 0",
                                     "reduce_sum[] of [] on rank 0, part 0 of 2 of the sum",
                                     "reduce_sum[] of [] on rank 0, part 1 of 2 of the sum"}) {
    EXPECT_TRUE(absl::StrContains(out, absl::StrCat(headline, " (m.model:8) =\n"))) << headline << "\n" << out;
  }
}

// Logarithms of negative numbers.
TEST_F(Looks, AssertionsNameTheMicroBatch) {
  CompileText(Network("assert_finite(log(x));"), {"--devices", "1", "--set", "micro_batches=4", "--out", "out"});
  EXPECT_EQ(Make(folder_ + "/out").exit_code, 0);
  const CommandResult ran = Start(folder_ + "/out");
  EXPECT_EQ(ran.exit_code, 7);
  EXPECT_TRUE(absl::StrContains(ran.err, "of the piece of rank 0 in micro-batch ")) << ran.err;
}

// Data is on both stages, and the rest on the second, where rank 0 is not.
TEST_F(Looks, StagesShowWhatOneRankShows) {
  const std::string looks = "#[stage(1)] let late = relu(x); print(x); print(late); print(reduce_max(late));";
  CompileText(Network(looks), {"--devices", "1", "--out", "out"});
  const std::vector<std::string> whole = ShownIn(Run());
  CompileText(Network(absl::StrCat(looks, " print(local late); assert_finite(late);")),
              {"--devices", "2", "--set", "stages=2", "--set", "micro_batches=3", "--out", "out"});
  const std::string out = Run();
  EXPECT_TRUE(absl::StrContains(out, "late.relu[2:5, 0:8] of [8, 8] on rank 1")) << out;
  EXPECT_FALSE(absl::StrContains(out, "on rank 0")) << out;
  std::vector<std::string> shown = ShownIn(out);
  for (const std::string& line : whole) {
    const auto found = std::find(shown.begin(), shown.end(), line);
    ASSERT_NE(found, shown.end()) << line << "\n" << out;
    shown.erase(found);
  }
}

TEST_F(Looks, NoPlanIsChanged) {
  const std::string looks =
      "print(x); print(local h); assert_finite(logits); print(softmax(transpose(h))); print(local reduce_mean(y)); "
      "metric accuracy(logits, label); metric mse(h, x);";
  // For GPUs plans are also compared by their predicted steps.
  const std::vector<std::pair<std::string, std::string>> searches = {{"sapp", "cpu"},          {"sapp", "cuda"},
                                                                     {"propagate", "cpu"},     {"exact", "cpu"},
                                                                     {"data_parallel", "cpu"}, {"replicate", "cpu"}};
  for (const auto& [search, target] : searches) {
    for (const std::string devices : {"4", "6"}) {
      const std::vector<std::string> plan = {"--devices", devices, "--search", search, "--target", target};
      const std::string pin = search == "propagate" ? "#[shard((2, 1), (1, 1))] " : "";
      const std::map<std::string, std::string> silent = PlanOf(Network("", pin), plan);
      const std::map<std::string, std::string> talkative = PlanOf(Network(looks, pin), plan);
      ASSERT_GT(silent.size(), 10u);
      for (const auto& [op, entry] : silent) {
        ASSERT_EQ(talkative.count(op), 1u) << op;
        EXPECT_EQ(talkative.at(op), entry) << search << " on " << devices;
      }
    }
  }
}

TEST_F(Looks, NoPlanOfAnExampleIsChanged) {
  const std::map<std::string, std::string> looks = {
      {"examples/mnist_mlp/mnist_mlp.model", "print(h1); assert_finite(logits); print(local relu(logits));"},
      {"examples/mnist_cnn/mnist_cnn.model", "print(conv1); print(local conv2); print(reduce_mean(hidden));"},
      {"examples/tiny_gpt/tiny_gpt.model", "print(normal); assert_finite(x); print(local reduce_max(logits));"}};
  for (const auto& [model, statements] : looks) {
    std::vector<std::string> silent, talkative;
    for (const absl::string_view line : absl::StrSplit(ReadText(DataPath(model)), '\n')) {
      const bool is_metric = absl::StrContains(line, "metric ");
      silent.push_back(is_metric ? "" : std::string(line));
      talkative.push_back(is_metric ? absl::StrCat(line, " ", statements) : std::string(line));
    }
    for (const std::string search : {"sapp", "data_parallel"}) {
      SCOPED_TRACE(absl::StrCat(model, " ", search));
      const std::vector<std::string> plan = {"--devices", "4", "--search", search};
      const std::map<std::string, std::string> expected = PlanOf(absl::StrJoin(silent, "\n"), plan);
      const std::map<std::string, std::string> found = PlanOf(absl::StrJoin(talkative, "\n"), plan);
      ASSERT_GT(expected.size(), 10u);
      for (const auto& [op, entry] : expected) {
        ASSERT_EQ(found.count(op), 1u) << op;
        EXPECT_EQ(found.at(op), entry);
      }
    }
  }
}

}  // namespace
}  // namespace cleave::tests
