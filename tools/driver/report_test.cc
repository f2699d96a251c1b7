#include "tools/driver/report.h"

#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

ExitCode ExitCodeAfter(Code code) {
  Report report;
  report.diagnostics.Add(Warning(Code::kW0617, "a warning decides nothing"));
  report.diagnostics.Add(Error(code, "an error"));
  return ExitCodeOf(report);
}

TEST(ReportTest, TheErrorGivesTheExitCode) {
  EXPECT_EQ(ExitCodeAfter(Code::kE0201), ExitCode::kModelWrong);
  EXPECT_EQ(ExitCodeAfter(Code::kE0604), ExitCode::kModelWrong);
  EXPECT_EQ(ExitCodeAfter(Code::kE0522), ExitCode::kModelWrong);
  EXPECT_EQ(ExitCodeAfter(Code::kE0313), ExitCode::kNoPlanFits);
  for (const Code code : {Code::kE0601, Code::kE0602, Code::kE0603}) {
    EXPECT_EQ(ExitCodeAfter(code), ExitCode::kEnvironment);
  }
}

TEST(ReportTest, ABugWinsOverErrorsAndIsSaidFirst) {
  Report report;
  report.diagnostics.Add(Error(Code::kE0201, "an error"));
  report.bug = BugText("partition", "a value is never written");
  EXPECT_EQ(ExitCodeOf(report), ExitCode::kInternal);
  const std::string bug =
      "internal error in partition: a value is never written\n"
      "nothing was written; please report this together with the model file\n";
  EXPECT_EQ(ReportText(report, ErrorFormat::kText), bug + "error[E0201]: an error\n");
  const std::string json = ReportText(report, ErrorFormat::kJson);
  EXPECT_EQ(json.substr(0, bug.size() + 1), bug + "{");
  EXPECT_EQ(json.substr(json.size() - 2), "}\n");
}

}  // namespace
}  // namespace cleave::tools
