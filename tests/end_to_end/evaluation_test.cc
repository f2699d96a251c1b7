// Evaluations while training goes on: what they say, what they leave alone, which checkpoints they keep, and when they
// end the training.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/resuming.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

namespace fs = std::filesystem;

constexpr char kModel[] = "tests/end_to_end/resumed.model";
constexpr double kTolerance = 1e-5;

// 61 of 203 samples are set aside: a batch of 31 and a part of one. 142 train, 4 steps an epoch. With a learning rate
// of 0.1 the validation loss soon rises.
LocalProgram Evaluating(const std::string& ranks, const std::string& data = "synthetic(train = 203, test = 62)") {
  return BuildLocal(absl::StrCat("evaluating_", ranks, "_", data.size()), kModel,
                    {"--devices", ranks,
                     "--set",     absl::StrCat("data=", data),
                     "--set",     "validation=0.3",
                     "--set",     "eval_every=3",
                     "--set",     "checkpoint=every(5)",
                     "--set",     "keep=2",
                     "--set",     "best=min(loss)",
                     "--set",     "patience=6",
                     "--set",     "epochs=50",
                     "--set",     "optimizer=adam(lr = 0.01)"});
}

std::vector<Json> Evaluations(const std::string& out) {
  std::vector<Json> evaluations;
  for (const absl::string_view line : absl::StrSplit(ReadText(out + "/metrics.jsonl"), '\n', absl::SkipEmpty())) {
    const Json json = *ParseStrictJson(std::string(line));
    if (!json.contains("loss")) evaluations.push_back(json);
  }
  for (Json& evaluation : evaluations) evaluation.erase("seconds");
  return evaluations;
}

Json RunOf(const std::string& out) { return *ParseStrictJson(ReadText(out + "/run.json")); }

double SumOf(const Json& table) {
  double sum = 0;
  for (const Json& row : table) {
    for (const Json& number : row) sum += number.get<double>();
  }
  return sum;
}

// The first of those with the least loss.
Json BestOf(const std::vector<Json>& evaluations) {
  return *std::min_element(evaluations.begin(), evaluations.end(), [](const Json& a, const Json& b) {
    return a["validation"]["loss"].get<double>() < b["validation"]["loss"].get<double>();
  });
}

std::string BestLink(const std::string& out) { return fs::read_symlink(out + "/checkpoints/best").string(); }

// Training that is not interrupted, until patience is over.
std::string Whole(const LocalProgram& program) {
  const std::string out = program.path + "_whole";
  if (fs::exists(out + "/run.json")) return out;
  const CommandResult ran = Train(program, out, "");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.out, "| 142 training samples, 61 validation, 62 test |")) << ran.out;
  EXPECT_TRUE(absl::StrContains(ran.out, "step 3/200 | validation loss ")) << ran.out;
  EXPECT_TRUE(absl::StrContains(ran.out, " | best\n")) << ran.out;
  EXPECT_TRUE(absl::StrContains(ran.out, " evaluations after it were not better\n")) << ran.out;
  EXPECT_TRUE(absl::StrContains(ran.out, "/200 | test loss ")) << ran.out;
  return out;
}

TEST(Evaluation, ChangesNothing) {
  for (const LocalProgram& program : {OnOneRank(), OnTwoRanks()}) {
    SCOPED_TRACE(program.name);
    const std::string without = FreshFolder("without");
    const std::string with = FreshFolder("with");
    ASSERT_EQ(Train(program, without, "--quiet --keep 9 --checkpoint-every 7").exit_code, 0);
    const CommandResult ran = Train(program, with, "--keep 9 --checkpoint-every 7 --eval-every 2");
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(Losses(with), Losses(without));
    ExpectSameFiles(with + "/checkpoints", without + "/checkpoints");
    EXPECT_EQ(Evaluations(with).size(), 10u);
    EXPECT_TRUE(Evaluations(without).empty());
    EXPECT_EQ(RunOf(with)["test"]["accuracy"], RunOf(without)["test"]["accuracy"]);
    EXPECT_TRUE(RunOf(with)["test"].contains("loss"));
    EXPECT_TRUE(absl::StrContains(ran.out, "step 2/21 | test loss ")) << ran.out;
    EXPECT_TRUE(absl::StrContains(ran.out, "\ntest confusion_matrix\n  ")) << ran.out;
    EXPECT_EQ(SumOf(RunOf(with)["test"]["confusion_matrix"]), 62);
    EXPECT_FALSE(absl::StrContains(ran.out, "epoch 0 | test ")) << ran.out;
  }
}

TEST(Evaluation, IsTheSameOnAnyNumberOfRanksAndInMicroBatches) {
  const std::vector<Json> expected = Evaluations(Whole(Evaluating("1")));
  ASSERT_GT(expected.size(), 6u);
  EXPECT_EQ(expected[0]["samples"], 61);
  EXPECT_EQ(expected[1]["step"], 6);
  EXPECT_EQ(expected[1]["epoch"], 1);
  const LocalProgram parts =
      BuildLocal("evaluating_parts", kModel,
                 {"--devices", "2", "--search", "data_parallel", "--set", "zero=2", "--set", "micro_batches=2", "--set",
                  "data=synthetic(train = 203, test = 62)", "--set", "validation=0.3", "--set", "eval_every=3", "--set",
                  "optimizer=adam(lr = 0.01)"});
  for (const LocalProgram& program : {Evaluating("2"), parts}) {
    const std::string out = FreshFolder("same");
    ASSERT_EQ(Train(program, out, "--quiet --steps 6").exit_code, 0);
    const std::vector<Json> found = Evaluations(out);
    ASSERT_EQ(found.size(), 2u);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(expected[i]["validation"].size(), 7u);
      const Json numbers = found[i]["validation"].flatten();
      const Json all = expected[i]["validation"].flatten();
      for (const auto& [name, number] : all.items()) {
        const double value = number.get<double>();
        EXPECT_NEAR(numbers[name].get<double>(), value, kTolerance * value) << program.name << " " << name;
      }
    }
  }
}

// On two that stand in for GPUs, which replay what they have recorded.
TEST(Evaluation, IsTheSameOnGpus) {
  const LocalProgram cuda = BuildLocal(
      "cuda", kModel, {"--devices", "2", "--search", "data_parallel", "--set", "zero=1", "--target", "cuda"});
  const std::string without = FreshFolder("gpus_without");
  const std::string with = FreshFolder("gpus_with");
  const std::string cpu = FreshFolder("cpu_with");
  ASSERT_EQ(Train(cuda, without, "--quiet --checkpoint-every 7").exit_code, 0);
  ASSERT_EQ(Train(cuda, with, "--quiet --checkpoint-every 7 --eval-every 2").exit_code, 0);
  ASSERT_EQ(Train(OnOneRank(), cpu, "--quiet --eval-every 2").exit_code, 0);
  EXPECT_EQ(Losses(with), Losses(without));
  ExpectSameFiles(with + "/checkpoints", without + "/checkpoints");
  const std::vector<Json> expected = Evaluations(cpu);
  const std::vector<Json> found = Evaluations(with);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    for (const char* const name : {"loss", "perplexity"}) {
      const double value = expected[i]["test"][name].get<double>();
      EXPECT_NEAR(found[i]["test"][name].get<double>(), value, 1e-4 * std::abs(value)) << name << " " << i;
    }
    EXPECT_EQ(SumOf(found[i]["test"]["confusion_matrix"]), 62);
  }
}

TEST(Evaluation, KeepsTheBestBesideTheLatest) {
  for (const char* const ranks : {"1", "2"}) {
    const std::string out = Whole(Evaluating(ranks));
    const Json best = BestOf(Evaluations(out));
    const Json run = RunOf(out);
    EXPECT_EQ(run["exit"], 0);
    EXPECT_EQ(run["best"]["criterion"], "min(loss)");
    EXPECT_EQ(run["best"]["step"], best["step"]);
    EXPECT_EQ(run["best"]["value"], best["validation"]["loss"]);
    const int64_t step = best["step"].get<int64_t>();
    const int64_t last = run["steps"].get<int64_t>();
    EXPECT_EQ(last, step + 18) << "six evaluations";
    EXPECT_EQ(run["stopped_after"], last);
    EXPECT_TRUE(run.contains("test"));
    EXPECT_EQ(BestLink(out), absl::StrCat("step_", step));
    std::vector<std::string> names = {"best", absl::StrCat("step_", step), absl::StrCat("step_", last),
                                      absl::StrCat("step_", (last - 1) / 5 * 5)};
    std::sort(names.begin(), names.end());
    EXPECT_EQ(NamesIn(out + "/checkpoints"), names);
    const Json index = *ParseStrictJson(ReadText(out + "/checkpoints/best/checkpoint.json"));
    EXPECT_EQ(index["best"]["step"], step);
    EXPECT_EQ(index["best"]["since"], 0);
  }
}

// Between evaluations, between checkpoints, at both, and after the best.
TEST(Evaluation, GoesOnAsIfNeverInterrupted) {
  for (const char* const ranks : {"1", "2"}) {
    const LocalProgram program = Evaluating(ranks);
    const std::string whole = Whole(program);
    const int64_t last = RunOf(whole)["steps"].get<int64_t>();
    for (const int64_t step : {int64_t{4}, int64_t{9}, int64_t{15}, last - 4, last - 1}) {
      SCOPED_TRACE(absl::StrCat(ranks, " ranks, interrupted after step ", step, " of ", last));
      const std::string out = FreshFolder(absl::StrCat("interrupted_", ranks, "_", step));
      ASSERT_EQ(Train(program, out, absl::StrCat("--quiet --steps ", step)).exit_code, 0);
      const CommandResult ran = Train(program, out, "--resume --keep 2");
      ASSERT_EQ(ran.exit_code, 0) << ran.err;
      EXPECT_EQ(Losses(out), Losses(whole));
      EXPECT_EQ(Evaluations(out), Evaluations(whole));
      for (const char* const field : {"best", "validation", "test", "stopped_after"}) {
        EXPECT_EQ(RunOf(out)[field], RunOf(whole)[field]) << field;
      }
      EXPECT_EQ(BestLink(out), BestLink(whole));
      for (const std::string& name : {std::string("best"), absl::StrCat("step_", last)}) {
        ExpectSameFiles(out + "/checkpoints/" + name, whole + "/checkpoints/" + name);
      }
    }
  }
}

TEST(Evaluation, TrainsNothingWherePatienceWasOver) {
  const LocalProgram program = Evaluating("2");
  const std::string whole = Whole(program);
  const std::string out = FreshFolder("over");
  const CommandResult ran = Train(program, out, absl::StrCat("--resume ", whole, "/checkpoints"));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.out, "\nnothing is trained: min(loss) is ")) << ran.out;
  EXPECT_EQ(RunOf(out)["steps"], 0);
  EXPECT_EQ(RunOf(out)["test"], RunOf(whole)["test"]);
  EXPECT_EQ(RunOf(out)["stopped_after"], RunOf(whole)["stopped_after"]);
}

// A job that was killed after the best checkpoint got its name, and before the link led to it.
TEST(Evaluation, MendsTheLink) {
  const LocalProgram program = Evaluating("2");
  const std::string out = FreshFolder("killed");
  ASSERT_EQ(Train(program, out, "--quiet --steps 4 --keep 9").exit_code, 0);
  EXPECT_EQ(BestLink(out), "step_3");
  fs::remove(out + "/checkpoints/best");
  fs::create_directory_symlink("step_1", out + "/checkpoints/best");
  ASSERT_EQ(Train(program, out, "--quiet --resume --steps 5 --keep 9").exit_code, 0);
  EXPECT_EQ(BestLink(out), "step_3");
  // From before the best one: it is set aside, and nothing is the best yet.
  fs::create_directory(out + "/checkpoints/other");
  ASSERT_EQ(Train(program, out + "/again", "--quiet --steps 2").exit_code, 0);
  EXPECT_FALSE(fs::exists(fs::symlink_status(out + "/again/checkpoints/best")));
  ASSERT_EQ(Train(program, out, absl::StrCat("--quiet --steps 2 --resume ", out, "/again/checkpoints")).exit_code, 0);
  EXPECT_FALSE(fs::exists(fs::symlink_status(out + "/checkpoints/best")));
}

// The link names a checkpoint wherever one is named.
TEST(Evaluation, TheLinkIsAName) {
  const LocalProgram program = Evaluating("2");
  const std::string whole = Whole(program);
  const std::string best = absl::StrCat(whole, "/checkpoints/", BestLink(whole));
  const LocalProgram evaluate = BuildLocal("evaluate_best", kModel,
                                           {"--mode", "evaluate", "--devices", "1", "--set",
                                            "data=synthetic(train = 203, test = 62)", "--set", "validation=0.3"});
  const CommandResult ran = Train(evaluate, FreshFolder("best"), absl::StrCat("--params ", whole, "/checkpoints/best"));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.out, absl::StrCat("`", best, "`"))) << ran.out;
  EXPECT_TRUE(absl::StrContains(ran.out, "\ntest accuracy ")) << ran.out;
  const CommandResult resumed =
      Train(program, FreshFolder("from_best"), absl::StrCat("--steps 1 --resume ", whole, "/checkpoints/best/"));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(absl::StrContains(resumed.out, "; so far min(loss) is ")) << resumed.out;
}

// Of data that has no test part, the samples that are set aside are tested at the end, also by a program that
// evaluates.
TEST(Evaluation, TestsWhatIsSetAside) {
  const std::string data = "synthetic(train = 203)";
  const std::string out = FreshFolder("set_aside");
  const CommandResult trained = Train(Evaluating("2", data), out, "--steps 7");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(absl::StrContains(trained.out, "step 7/7 | validation loss ")) << trained.out;
  const Json run = RunOf(out);
  EXPECT_FALSE(run.contains("test"));
  const LocalProgram evaluate =
      BuildLocal("evaluate_aside", kModel,
                 {"--mode", "evaluate", "--devices", "1", "--set", absl::StrCat("data=", data), "--set",
                  "validation=0.3", "--set", "batch=40"});
  const std::string evaluated = FreshFolder("evaluated_aside");
  const CommandResult ran = Train(evaluate, evaluated, absl::StrCat("--params ", out, "/checkpoints"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.out, "\n61 samples in ")) << ran.out;
  EXPECT_NEAR(RunOf(evaluated)["validation"]["accuracy"].get<double>(), run["validation"]["accuracy"].get<double>(),
              kTolerance);
}

TEST(Evaluation, WhatACutEpochEndsWithIsTested) {
  const std::string out = FreshFolder("cut");
  const CommandResult ran = Train(OnTwoRanks(), out, "--steps 10");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.out, "epoch 1 | test accuracy ")) << ran.out;
  EXPECT_TRUE(RunOf(out)["test"].contains("accuracy"));
}

TEST(Evaluation, MistakesOnTheCommandLine) {
  const CommandResult unsaved = Train(Evaluating("2"), FreshFolder("mistake"), "--checkpoint-every 0");
  EXPECT_EQ(unsaved.exit_code, 2);
  EXPECT_TRUE(absl::StrContains(unsaved.err, "`--checkpoint-every` must not be 0")) << unsaved.err;
  const LocalProgram untested =
      BuildLocal("untested", kModel, {"--devices", "1", "--set", "data=synthetic(train = 203)", "--set", "epochs=1"});
  const CommandResult nothing = Train(untested, FreshFolder("mistake"), "--eval-every 3");
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_TRUE(absl::StrContains(nothing.err, "there is nothing to evaluate: synthetic has no test part"))
      << nothing.err;
  EXPECT_EQ(Train(untested, FreshFolder("mistake"), "--quiet").exit_code, 0);
  const LocalProgram evaluate = BuildLocal("evaluate_1", kModel, {"--mode", "evaluate", "--devices", "1"});
  EXPECT_EQ(Train(evaluate, FreshFolder("mistake"), "--eval-every 3").exit_code, 2);
}

}  // namespace
}  // namespace cleave::tests
