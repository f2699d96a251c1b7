#include "tools/profile/profile.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tools/profile/command.h"
#include "tools/profile/profile_page.h"

namespace cleave::tools {
namespace {

constexpr char kRun[] = R"({"exit": 0, "steps": 9, "median_step_seconds": 0.011,
 "peak_memory_bytes": {"0": 1000, "1": 1500},
 "profile": {"steps": 8, "step_seconds": 0.0105, "ops": [
   {"op": "x.#.out.bias_add", "place": "a.model:3", "calls": 2, "seconds": 0.004},
   {"op": "x.1.norm.grad", "place": "a.model:4", "calls": 1, "seconds": 0.001},
   {"op": "x.#.norm.grad", "place": "a.model:4", "calls": 1, "seconds": 0.0015},
   {"op": "x.#.norm.weight.grad", "calls": 2, "seconds": 0.0005},
   {"op": "loss.all_reduce", "place": "a.model:9", "calls": 1, "seconds": 0.002},
   {"op": "metric.accuracy", "place": "a.model:10", "calls": 1, "seconds": 0.0005},
   {"op": "", "calls": 3, "seconds": 0.001}]}})";

constexpr char kPlan[] = R"({"format": "cleave-plan", "version": 1, "model": {"name": "A"}, "cluster": {"name": "cpu"},
 "mesh": [{"axis": "m0", "size": 2}],
 "predicted": {"step_seconds": 0.007, "memory_per_rank": {"peak": 1500}, "kernels": [
   {"phase": "forward", "kind": "inputs", "ops": ["x"], "runs": 1, "seconds": 0.0001, "limit": "input"},
   {"phase": "forward", "kind": "products", "ops": ["x.#.out.bias_add"], "runs": 2, "seconds": 0.001,
    "limit": "arithmetic", "what": "matmul [4,4] x [4,4] -> f32[4,4]"},
   {"phase": "backward", "kind": "norms", "ops": ["x.#.norm.grad", "x.#.norm.weight.grad"], "runs": 1,
    "seconds": 0.0005, "limit": "memory"},
   {"phase": "backward", "kind": "norms", "ops": ["x.#.norm.grad"], "runs": 1, "seconds": 0.0005, "limit": "memory"},
   {"phase": "forward", "kind": "collectives", "ops": ["loss.all_reduce"], "runs": 1, "seconds": 0.004,
    "limit": "link"},
   {"phase": "forward", "kind": "products", "ops": ["x.#.out.bias_add"], "runs": 7, "seconds": 1, "part": 1,
    "limit": "arithmetic"}]}})";

absl::StatusOr<Comparison> CompareTexts(const std::string& run_text, const std::string& plan_text) {
  absl::StatusOr<MeasuredRun> run = ReadRun(run_text);
  if (!run.ok()) return run.status();
  absl::StatusOr<PredictedStep> plan = ReadPrediction(plan_text);
  if (!plan.ok()) return plan.status();
  return Compare(*std::move(run), *std::move(plan));
}

TEST(ProfileTest, KernelsAndOpsThatShareANameAreOneRow) {
  const absl::StatusOr<Comparison> comparison = CompareTexts(kRun, kPlan);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  ASSERT_EQ(comparison->works.size(), 3u);
  const ComparedWork& product = comparison->works[0];
  EXPECT_EQ(product.name, "x.#.out.bias_add");
  EXPECT_DOUBLE_EQ(product.predicted.value(), 0.002);
  EXPECT_DOUBLE_EQ(product.Ratio(), 2);
  const ComparedWork& norm = comparison->works[1];
  EXPECT_EQ(norm.kind, "norms");
  EXPECT_DOUBLE_EQ(norm.predicted.value(), 0.001);
  EXPECT_DOUBLE_EQ(norm.measured.value(), 0.003);
  ASSERT_EQ(comparison->unpredicted.size(), 2u);
  EXPECT_EQ(comparison->unpredicted[0].op, "");
  ASSERT_EQ(comparison->unmeasured.size(), 1u);
  EXPECT_EQ(comparison->unmeasured[0].kind, "inputs");
  // Each measured and each predicted second is somewhere.
  Seconds measured{0}, predicted{0};
  for (const ComparedWork& work : comparison->works) measured += work.measured, predicted += work.predicted;
  for (const MeasuredWork& work : comparison->unpredicted) measured += work.seconds;
  for (const PredictedWork& work : comparison->unmeasured) predicted += work.seconds;
  EXPECT_NEAR(measured.value(), 0.0105, 1e-12);
  EXPECT_NEAR(predicted.value(), 0.0071, 1e-12);
}

TEST(ProfileTest, KindsAndSurprises) {
  const absl::StatusOr<Comparison> comparison = CompareTexts(kRun, kPlan);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const std::vector<KindSum> kinds = KindsOf(*comparison);
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[0].kind, "products");
  EXPECT_DOUBLE_EQ(kinds[0].median_ratio, 2);
  EXPECT_EQ(kinds[2].kind, "collectives");
  EXPECT_DOUBLE_EQ(kinds[2].median_ratio, 0.5);
  const std::vector<const ComparedWork*> surprises = SurprisesOf(*comparison, 2);
  ASSERT_EQ(surprises.size(), 2u);
  for (const ComparedWork* surprise : surprises) {
    EXPECT_NEAR(std::abs((surprise->measured - surprise->predicted).value()), 0.002, 1e-12);
  }
}

TEST(ProfileTest, TextFitsAndJsonIsRead) {
  const absl::StatusOr<Comparison> comparison = CompareTexts(kRun, kPlan);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const std::string text = ComparisonText(*comparison);
  EXPECT_TRUE(absl::StrContains(text, "memory, fullest rank       1.5 KiB     1.5 KiB     1.00\n")) << text;
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    EXPECT_LE(text.find('\n', begin) - begin, 100u) << text;
  }
  const absl::StatusOr<Json> json = ParseStrictJson(ComparisonJson(*comparison));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_DOUBLE_EQ(json->at("step_seconds").at("ratio").get<double>(), 1.5);
  EXPECT_EQ(json->at("kernels").size(), 3u);
}

TEST(ProfileTest, ThePageHasEachKernelAndIsNoMarkupOfNames) {
  const std::string plan = absl::StrReplaceAll(
      kPlan, {{"\"name\": \"A\"", "\"name\": \"<b>A\", \"file\": \"/models/a.model\""}, {"\"norms\"", "\"<i>norms\""}});
  const absl::StatusOr<Comparison> comparison = CompareTexts(kRun, plan);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const std::string page = ProfilePage(*comparison, "one\ntwo\n  let y = <out>(x)\nfour");
  EXPECT_TRUE(absl::StrContains(page, "A step on 2 ranks of cpu takes 10.50 ms, 1.50 times the predicted 7.00 ms"));
  EXPECT_TRUE(absl::StrContains(page, "let y = &lt;out&gt;(x)</span>")) << "the line of a surprise";
  EXPECT_FALSE(absl::StrContains(page, "<b>")) << page;
  EXPECT_FALSE(absl::StrContains(page, "<i>")) << page;
  size_t points = 0;
  for (size_t at = page.find("<circle"); at != page.npos; at = page.find("<circle", at + 1)) ++points;
  EXPECT_EQ(points, comparison->works.size());
  EXPECT_EQ(page, ProfilePage(*comparison, "one\ntwo\n  let y = <out>(x)\nfour"));
}

TEST(ProfileTest, ThePageOfARunWithoutAProfileHasItsVerdict) {
  const absl::StatusOr<Comparison> comparison = CompareTexts(R"({"median_step_seconds": 0.014})", kPlan);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const std::string page = ProfilePage(*comparison, "");
  EXPECT_TRUE(absl::StrContains(page, "start the program with --profile"));
  EXPECT_FALSE(absl::StrContains(page, "<svg"));
}

TEST(ProfileTest, ARunWithoutAProfileHasStepAndMemory) {
  const absl::StatusOr<Comparison> comparison =
      CompareTexts(R"({"median_step_seconds": 0.014, "peak_memory_bytes": {"0": 1, "1": 2}})", kPlan);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_TRUE(absl::StrContains(ComparisonText(*comparison), "start the program with `--profile`"));
  EXPECT_DOUBLE_EQ(comparison->run.step.value(), 0.014);
}

TEST(ProfileTest, WhatDoesNotBelongTogetherIsRefused) {
  const auto message = [](const std::string& run, const std::string& plan) {
    return std::string(CompareTexts(run, plan).status().message());
  };
  EXPECT_TRUE(absl::StrContains(message(kRun, absl::StrReplaceAll(kPlan, {{"\"size\": 2", "\"size\": 4"}})),
                                "it has 2 ranks, and the plan 4"));
  EXPECT_TRUE(absl::StrContains(message(kRun, absl::StrReplaceAll(kPlan, {{"x.#", "y.#"}, {"loss", "error"}})),
                                "which has no kernel for `x.#.out.bias_add`"));
  EXPECT_TRUE(absl::StrContains(message(kRun, absl::StrReplaceAll(kPlan, {{"kernels", "kernel"}})), "older version"));
  EXPECT_FALSE(message(std::string(kRun).substr(0, 300), kPlan).empty());
  EXPECT_FALSE(message(kRun, "[]").empty());
  EXPECT_FALSE(message("{}", kPlan).empty());
  EXPECT_FALSE(message(absl::StrReplaceAll(kRun, {{"\"seconds\": 0.004", "\"seconds\": \"x\""}}), kPlan).empty());
  EXPECT_FALSE(message(absl::StrReplaceAll(kRun, {{"\"steps\": 8", "\"steps\": 0"}}), kPlan).empty());
}

TEST(ProfileTest, FindsTheFilesOfAFolder) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/profile_run");
  std::filesystem::create_directories(folder);
  std::ofstream(absl::StrCat(folder, "/run.json")) << kRun;
  std::ofstream(absl::StrCat(folder, "/plan.json")) << kPlan;
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunProfile("profile", "", {folder}), ExitCode::kDone);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(absl::StartsWith(text, "A on 2 ranks of cpu, a step of rank 0\n")) << text;
  const std::string page = absl::StrCat(folder, "/page.html");
  std::filesystem::remove(page);
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunProfile("profile", "", {folder, "--html", page}), ExitCode::kDone);
  testing::internal::GetCapturedStdout();
  EXPECT_TRUE(std::filesystem::exists(page));
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunProfile("profile", "", {folder, "--html", absl::StrCat(folder, "/run.json")}), ExitCode::kEnvironment)
      << "a run is no page";
  EXPECT_EQ(RunProfile("profile", "", {absl::StrCat(folder, "/nothing.json")}), ExitCode::kModelWrong);
  EXPECT_TRUE(absl::StartsWith(testing::internal::GetCapturedStderr(), "error: "));
}

}  // namespace
}  // namespace cleave::tools
