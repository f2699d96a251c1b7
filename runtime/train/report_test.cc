#include "runtime/train/report.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

namespace cleave::runtime {
namespace {

std::string Content(const std::string& path) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return "missing";
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text.push_back(static_cast<char>(c));
  std::fclose(file);
  return text;
}

std::string Folder() {
  return testing::TempDir() + "/report/" + testing::UnitTest::GetInstance()->current_test_info()->name();
}

TEST(Median, OddEvenAndNone) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({}), 0);
}

TEST(Report, WritesOneObjectPerStepWithALossThatReadsBackExactly) {
  const float loss = 2.302585093f;
  {
    Result<Report> report = Report::Open(Folder(), {.lines = false});
    ASSERT_TRUE(report.ok()) << report.error().message;
    report.value().Step(
        {.step = 1, .total_steps = 2, .epoch = 0, .loss = loss, .metrics = {}, .seconds = 0.0032, .samples = 256},
        false);
    report.value().Step({.step = 2,
                         .total_steps = 2,
                         .epoch = 1,
                         .loss = 0.1f,
                         .metrics = {{"accuracy", 0.5}},
                         .seconds = 0.5,
                         .samples = 256},
                        true);
  }
  const std::string text = Content(Folder() + "/metrics.jsonl");
  EXPECT_EQ(text,
            "{\"step\":1,\"epoch\":0,\"loss\":2.30258512,\"seconds\":0.0032,\"samples\":256}\n"
            "{\"step\":2,\"epoch\":1,\"loss\":0.100000001,\"seconds\":0.5,\"samples\":256,\"accuracy\":0.5}\n");
  EXPECT_EQ(std::strtof(text.c_str() + text.find("2.30"), nullptr), loss);
}

TEST(Report, NumbersThatAreNotFiniteAreNull) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  {
    Result<Report> report = Report::Open(Folder(), {.lines = false});
    ASSERT_TRUE(report.ok()) << report.error().message;
    report.value().Step({.loss = 0.5f,
                         .metrics = {{"accuracy", nan}},
                         .parameter_norm = std::numeric_limits<double>::infinity(),
                         .seconds = 0.5,
                         .samples = 8},
                        true);
  }
  EXPECT_EQ(Content(Folder() + "/metrics.jsonl"),
            "{\"step\":1,\"epoch\":0,\"loss\":0.5,\"seconds\":0.5,\"samples\":8,\"accuracy\":null,"
            "\"parameter_norm\":null}\n");
  RunRecord run;
  run.test = {{"accuracy", nan}};
  EXPECT_NE(RunJson(run).find("\"test\":{\"accuracy\":null}"), std::string::npos);
}

TEST(Report, PrintsOneLinePerLoggedStep) {
  Result<Report> report = Report::Open(Folder(), {});
  ASSERT_TRUE(report.ok());
  testing::internal::CaptureStdout();
  StepRecord record = {
      .step = 99, .total_steps = 781, .epoch = 0, .loss = 0.5f, .metrics = {}, .seconds = 0.002, .samples = 256};
  report.value().Step(record, false);
  record.step = 100;
  record.loss = 0.312345f;
  record.seconds = 0.004;
  record.metrics = {{"accuracy", 0.91}};
  report.value().Step(record, true);
  report.value().Evaluation("epoch 0", {.samples = 10, .values = {{"accuracy", 0.9512}}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "epoch 0 step 100/781 | loss 0.312345 | accuracy 0.9100 | 3.00 ms | 85333 samples/s | ETA 3 s\n"
            "epoch 0 | test accuracy 0.9512\n");
}

TEST(Report, SaysHowFastStepsAreAndHowLongTheyTakeYet) {
  Result<Report> report =
      Report::Open(Folder(), {.curves = Folder() + "/curves", .tokens_per_sample = 64, .seconds_at_peak = 0.1});
  ASSERT_TRUE(report.ok()) << report.error().message;
  testing::internal::CaptureStdout();
  StepRecord record = {.step = 1, .total_steps = 10001, .loss = 0.5f, .seconds = 0.25, .samples = 8};
  record.learning_rate = 0.001;
  record.gradient_norm = 3;
  report.value().Step(record, true);
  record.step = 9881;
  report.value().Step(record, true);
  record.step = 10001;
  report.value().Step(record, true);
  EXPECT_EQ(
      testing::internal::GetCapturedStdout(),
      "epoch 0 step 1/10001 | loss 0.500000 | 250.00 ms | 32 samples/s | 2048 tokens/s | MFU 40.0 % | ETA 41 min 40 s\n"
      "epoch 0 step 9881/10001 | loss 0.500000 | 250.00 ms | 32 samples/s | 2048 tokens/s | MFU 40.0 % | ETA 30 s\n"
      "epoch 0 step 10001/10001 | loss 0.500000 | 250.00 ms | 32 samples/s | 2048 tokens/s | MFU 40.0 %\n");
  const std::string metrics = Content(Folder() + "/metrics.jsonl");
  EXPECT_EQ(metrics.substr(0, metrics.find('\n')),
            "{\"step\":1,\"epoch\":0,\"loss\":0.5,\"seconds\":0.25,\"samples\":8,\"gradient_norm\":3,"
            "\"learning_rate\":0.001,\"tokens_per_second\":2048,\"mfu\":0.4}");
}

TEST(Report, PrintsLossesAsMindSporeDoes) {
  Result<Report> report = Report::Open(Folder(), {}, LogFormat::kMindSpore);
  ASSERT_TRUE(report.ok());
  testing::internal::CaptureStdout();
  StepRecord record;
  record.step = 645;
  record.epoch = 1;
  record.step_of_epoch = 20;
  record.loss = 0.312345f;
  record.seconds = 0.5;
  record.metrics = {{"accuracy", 0.91}};
  report.value().Step(record, true);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "epoch: 2 step: 20, loss is 0.312345\n");
}

TEST(Report, SummaryHasTheTimeOfCommunicationWhereItIsKnown) {
  Result<Report> report = Report::Open(Folder(), {});
  ASSERT_TRUE(report.ok());
  RunRecord run;
  run.seconds = 1.5;
  run.step_seconds = {0.25, 0.5, 0.75};
  run.communication_seconds = 0.3;
  testing::internal::CaptureStdout();
  report.value().Summary(run, 100);
  run.communication_is_timed = false;
  report.value().Summary(run, 100);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "done: 3 steps in 1.50 s | median step 500.00 ms, mean communication 100.00 ms | 200 samples/s\n"
            "done: 3 steps in 1.50 s | median step 500.00 ms | 200 samples/s\n");
}

TEST(Report, OtherRanksWriteNothing) {
  Result<Report> report = Report::Open(Folder() + "/x", {.files = false, .lines = false});
  ASSERT_TRUE(report.ok());
  testing::internal::CaptureStdout();
  report.value().Step({}, true);
  report.value().Line("text");
  EXPECT_FALSE(report.value().WriteRun({}).has_value());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(Content(Folder() + "/x/metrics.jsonl"), "missing");
}

TEST(Report, OtherRanksMayPrintTheSameLines) {
  Result<Report> report = Report::Open(Folder() + "/x", {.files = false});
  ASSERT_TRUE(report.ok());
  testing::internal::CaptureStdout();
  report.value().Step({.loss = 0.5f, .metrics = {}, .seconds = 0.5, .samples = 8}, true);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "epoch 0 step 1/1 | loss 0.500000 | 500.00 ms | 16 samples/s\n");
  EXPECT_EQ(Content(Folder() + "/x/metrics.jsonl"), "missing");
}

TEST(Report, RunJson) {
  RunRecord run;
  run.seconds = 1.5;
  run.step_seconds = {0.25, 0.5, 0.75};
  run.communication_seconds = 0.3;
  run.peak_memory_bytes = {100, 200};
  run.data_bytes = {10, 20};
  run.sent_bytes = {7, 8};
  run.traffic[0] = {3, 300, 600, 0.3};
  run.fallbacks = {{"products", 2}};
  run.graph_nodes = {.kernels = 5, .copies = 2, .fills = 1, .others = 4};
  run.test = {{"accuracy", 0.97}};
  EXPECT_EQ(RunJson(run),
            "{\"exit\":0,\"steps\":3,\"seconds\":1.5,\"median_step_seconds\":0.5,\"compute_seconds\":0.4,"
            "\"communication_seconds\":0.1,\"peak_memory_bytes\":{\"0\":100,\"1\":200},"
            "\"data_bytes\":{\"0\":10,\"1\":20},\"sent_bytes\":{\"0\":7,\"1\":8},"
            "\"collectives\":{\"all_reduce\":{\"count\":3,\"bytes\":300,\"sent_bytes\":600,\"seconds\":0.3}},"
            "\"graph_nodes\":{\"kernels\":5,\"copies\":2,\"fills\":1,\"others\":4},"
            "\"fallbacks\":{\"products\":2},\"test\":{\"accuracy\":0.97}}\n");
}

ProfileRecord TwoOps() {
  ProfileRecord profile;
  profile.steps = 2;
  profile.seconds = 0.02;
  profile.ops.push_back({.name = "h1.matmul", .place = "a.model:7", .calls = 4, .seconds = 0.015, .flops = 3e9});
  profile.ops.push_back({.name = "",
                         .place = "",
                         .calls = 2,
                         .seconds = 0.005,
                         .communication_seconds = 0.004,
                         .flops = 0,
                         .sent_bytes = 1e6});
  return profile;
}

TEST(Profile, TableOfAStep) {
  EXPECT_EQ(
      ProfileLines(TwoOps()),
      (std::vector<std::string>{"profile of 2 steps on rank 0: 10.000 ms a step, of which 2.000 ms in collectives",
                                "op                place       calls        ms    share   GFLOP/s    GB/s",
                                "h1.matmul         a.model:7       2     7.500   75.0 %     200.0        ",
                                "(outside of ops)                  1     2.500   25.0 %               0.2"}));
  EXPECT_EQ(ProfileLines({}),
            std::vector<std::string>{"profile: no step was measured, because the first one only prepares"});
}

TEST(Profile, ShortOpsAreSummedUp) {
  ProfileRecord profile = TwoOps();
  while (profile.ops.size() < 43) profile.ops.push_back({.name = "h2", .place = "", .calls = 2, .seconds = 0.001});
  const std::vector<std::string> lines = ProfileLines(profile);
  EXPECT_EQ(lines.size(), 43u);
  EXPECT_EQ(lines.back(), "3 more: 1.500 ms, 15.0 %; run.json has them");
}

TEST(Profile, IsInRunJson) {
  RunRecord run;
  run.profile = TwoOps();
  EXPECT_NE(RunJson(run).find("\"profile\":{\"steps\":2,\"step_seconds\":0.01,\"communication_seconds\":0.002,"
                              "\"ops\":[{\"op\":\"h1.matmul\",\"place\":\"a.model:7\",\"calls\":2,\"seconds\":0.0075,"
                              "\"flops\":1500000000},{\"op\":\"\",\"calls\":1,\"seconds\":0.0025,"
                              "\"communication_seconds\":0.002,\"sent_bytes\":500000}]}"),
            std::string::npos)
      << RunJson(run);
}

TEST(Report, RunJsonOfEvaluations) {
  RunRecord run;
  run.validation = {{"loss", 0.5}};
  run.test = {{"loss", 0.25}};
  run.stopped_after = 40;
  run.best = BestSoFar{"min(loss)", 0.375, 20, 5};
  const std::string text = RunJson(run);
  EXPECT_NE(text.find(",\"stopped_after\":40,"), std::string::npos) << text;
  EXPECT_NE(text.find(",\"best\":{\"criterion\":\"min(loss)\",\"value\":0.375,\"step\":20},"
                      "\"validation\":{\"loss\":0.5},\"test\":{\"loss\":0.25}}\n"),
            std::string::npos)
      << text;
  run.best->step = 0;  // Nothing was finite.
  EXPECT_EQ(RunJson(run).find("\"best\""), std::string::npos);
}

TEST(Report, LinesOfEvaluations) {
  Result<Report> report = Report::Open(Folder(), {});
  ASSERT_TRUE(report.ok());
  report.value().Begin(0);
  const EvaluationRecord record = {
      .part = DataPart::kValidation, .samples = 30, .values = {{"loss", 0.5}, {"accuracy", 0.75}}, .seconds = 0.25};
  testing::internal::CaptureStdout();
  report.value().Evaluation("step 20/60", record, " | best");
  report.value().Evaluation("", {.samples = 30, .values = {{"accuracy", 0.75}}});
  report.value().WriteEvaluation(20, 1, record);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "step 20/60 | validation loss 0.5000 | validation accuracy 0.7500 | best\ntest accuracy 0.7500\n");
  EXPECT_EQ(Content(Folder() + "/metrics.jsonl"),
            "{\"step\":20,\"epoch\":1,\"seconds\":0.25,\"samples\":30,"
            "\"validation\":{\"loss\":0.5,\"accuracy\":0.75}}\n");
}

TEST(Report, Tables) {
  Result<Report> report = Report::Open(Folder(), {});
  ASSERT_TRUE(report.ok());
  report.value().Begin(0);
  const EvaluationRecord record = {
      .samples = 30, .values = {{"loss", 0.5}}, .tables = {{{"hits", {2, 3}}, {1, 12, 0.5f, 0, 7, 100}}}};
  testing::internal::CaptureStdout();
  report.value().Evaluation("epoch 0", record);
  report.value().Evaluation("", {.samples = 30, .tables = {{{"share", {2}}, {0.25f, 1}}}});
  report.value().WriteEvaluation(20, 1, record);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "epoch 0 | test loss 0.5000\ntest hits\n    1  12 0.5\n    0   7 100\ntest share\n  0.25    1\n");
  EXPECT_EQ(Content(Folder() + "/metrics.jsonl"),
            "{\"step\":20,\"epoch\":1,\"seconds\":0,\"samples\":30,"
            "\"test\":{\"loss\":0.5,\"hits\":[[1,12,0.5],[0,7,100]]}}\n");
  RunRecord run;
  run.test_tables = {{{"share", {2}}, {0.25f, 1}}};
  EXPECT_NE(RunJson(run).find(",\"test\":{\"share\":[0.25,1]}}\n"), std::string::npos) << RunJson(run);
}

TEST(Report, WritesRunJsonWholeAndRemovesAnOlderOne) {
  {
    Result<Report> report = Report::Open(Folder(), {.lines = false});
    ASSERT_TRUE(report.ok());
    EXPECT_FALSE(report.value().WriteRun({}).has_value());
  }
  EXPECT_EQ(Content(Folder() + "/run.json"), RunJson({}));
  EXPECT_EQ(Content(Folder() + "/run.json.tmp"), "missing");
  Result<Report> again = Report::Open(Folder(), {.lines = false});
  EXPECT_EQ(Content(Folder() + "/run.json"), "missing");
}

// A job that is refused before it begins leaves the lines of an earlier one.
TEST(Report, KeepsMetricsUntilTrainingBegins) {
  const std::string path = Folder() + "/metrics.jsonl";
  const auto step = [](int64_t number, Report& report) { report.Step({.step = number}, false); };
  {
    Result<Report> report = Report::Open(Folder(), {.lines = false});
    ASSERT_TRUE(report.ok());
    report.value().Begin(0);
    for (const int64_t number : {1, 2, 3}) step(number, report.value());
  }
  const std::string three = Content(path);
  { ASSERT_TRUE(Report::Open(Folder(), {.lines = false}).ok()); }
  EXPECT_EQ(Content(path), three);
  {
    Result<Report> report = Report::Open(Folder(), {.lines = false});
    report.value().Begin(2);
    EXPECT_EQ(Content(path), three.substr(0, three.find("{\"step\":3")));
    step(3, report.value());
  }
  EXPECT_EQ(Content(path), three);
  Result<Report> report = Report::Open(Folder(), {.lines = false});
  report.value().Begin(0);
  EXPECT_EQ(Content(path), "");
  step(1, report.value());
  EXPECT_EQ(Content(path), three.substr(0, three.find("{\"step\":2")));
}

TEST(Report, AFolderThatCannotBe) {
  const std::string file = testing::TempDir() + "/a_file";
  std::fclose(std::fopen(file.c_str(), "w"));
  const Result<Report> report = Report::Open(file + "/out", {.lines = false});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ExitCode::kEnvironment);
  EXPECT_EQ(report.error().message, "cannot write to the folder `" + file + "/out`: Not a directory");
}

}  // namespace
}  // namespace cleave::runtime
