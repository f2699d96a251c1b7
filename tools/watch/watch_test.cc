#include "tools/watch/watch.h"

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tools/watch/curves.h"
#include "tools/watch/plot.h"

namespace cleave::tools {
namespace {

std::string WriteFile(const std::string& text) {
  const std::string path =
      absl::StrCat(testing::TempDir(), "/", testing::UnitTest::GetInstance()->current_test_info()->name(), ".jsonl");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

struct Outcome {
  ExitCode code;
  std::string out, err;
};

Outcome Watch(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const ExitCode code = RunWatch("cleave watch", "Shows curves.", words, out, err);
  return {code, out.str(), err.str()};
}

constexpr char kRun[] =
    R"({"step":1,"epoch":0,"loss":2,"seconds":0.5,"samples":8}
{"step":2,"epoch":0,"loss":1.10000002,"seconds":0.25,"samples":8,"accuracy":0.5,"watch":{"h":{"norm":3,"min":null}}}
{"step":2,"epoch":0,"seconds":0.1,"samples":100,"test":{"loss":1.5,"accuracy":null}}
)";

TEST(WatchTest, ATableHasWhatTheStepsHave) {
  EXPECT_EQ(Watch({WriteFile(kRun), "--csv"}).out,
            "step,epoch,loss,seconds,samples,accuracy,watch/h/norm,test/seconds,test/samples,test/loss\n"
            "1,0,2,0.5,8,,,,,\n"
            "2,0,1.10000002,0.25,8,0.5,3,0.1,100,1.5\n");
  EXPECT_EQ(Watch({WriteFile(kRun), "--csv", "--column", "*/loss", "--column", "accuracy"}).out,
            "step,test/loss,accuracy\n2,1.5,0.5\n");
}

TEST(WatchTest, ReadsOnWhereItStopped) {
  const std::string path = WriteFile(kRun);
  Curves curves(path);
  EXPECT_TRUE(*curves.Read());
  EXPECT_FALSE(*curves.Read());
  std::ofstream(path, std::ios::app) << R"({"step":3,"loss":0.5})";
  EXPECT_FALSE(*curves.Read()) << "the line has no end yet";
  std::ofstream(path, std::ios::app) << "\n";
  EXPECT_TRUE(*curves.Read());
  EXPECT_EQ(curves.Find("loss")->points.back(), (Point{.step = 3, .value = 0.5}));
  std::ofstream(path, std::ios::trunc) << R"({"step":1,"loss":7})"
                                       << "\n";
  EXPECT_TRUE(*curves.Read());
  EXPECT_EQ(curves.Find("loss")->points, (std::vector<Point>{{.step = 1, .value = 7}}));
}

TEST(WatchTest, DrawsWhatFallsAndRises) {
  Curve curve{.name = "loss", .points = {}};
  for (int i = 0; i < 16; ++i) curve.points.push_back({.step = 10 * i, .value = std::abs(i - 8.0)});
  const std::vector<std::string> lines = Plot(curve, {.columns = 29, .rows = 5, .ascii = true});
  EXPECT_EQ(lines, (std::vector<std::string>{"loss  7 at step 150; least 0 at step 80", "         8 |***           **",
                                             "           |  ***       ***", "         4 |    ***   ***",
                                             "           |      *****", "         0 |        *",
                                             "            0            150"}));
}

TEST(WatchTest, ShowsOnceWhereThereIsNoTerminal) {
  const Outcome shown = Watch({WriteFile(kRun), "--ascii"});
  EXPECT_EQ(shown.code, ExitCode::kDone);
  EXPECT_TRUE(absl::StartsWith(shown.out, "step 2, epoch 0 | 250.00 ms | 32 samples/s\nloss  1.1 at step 2;"))
      << shown.out;
  EXPECT_TRUE(absl::StrContains(shown.out, "\ntest/loss  1.5 at step 2;")) << shown.out;
}

TEST(WatchTest, SaysWhatIsWrong) {
  EXPECT_EQ(Watch({"no_such_run"}).err, "error: there is no `no_such_run`\n");
  EXPECT_EQ(Watch({testing::TempDir()}).code, ExitCode::kModelWrong);
  const std::string path = WriteFile(kRun);
  EXPECT_EQ(Watch({path, "--csv", "--log"}).code, ExitCode::kUsage);
  EXPECT_EQ(Watch({path, "--column", "acuracy"}).err, "error: no column `acuracy`; did you mean `accuracy`?\n");
  EXPECT_TRUE(absl::StrContains(Watch({path, "--column", "x"}).err, "there are epoch, loss,"));
  const Outcome broken = Watch({WriteFile("{\"step\":1,\"loss\":2}\nstep 2\n")});
  EXPECT_EQ(broken.code, ExitCode::kModelWrong);
  EXPECT_TRUE(absl::StrContains(broken.err, "SaysWhatIsWrong.jsonl` line 2: ")) << broken.err;
  EXPECT_TRUE(absl::StrContains(Watch({WriteFile("[1]\n")}).err, "not an object with a `step`"));
  EXPECT_TRUE(absl::StrContains(Watch({WriteFile("")}).err, "has no step yet"));
}

}  // namespace
}  // namespace cleave::tools
