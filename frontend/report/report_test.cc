#include "frontend/report/report.h"

#include <gtest/gtest.h>

namespace cleave::frontend {
namespace {

class ReporterTest : public testing::Test {
 protected:
  ReporterTest()
      : file_(sources_.Add("a.model", "first line\nsecond line\nthird line\n")),
        prelude_(sources_.Add("prelude.model", "fn dense(x)", TextOrigin::kBuiltIn)),
        reporter_(sources_, diagnostics_) {}

  Span At(int begin, int end) const { return {file_, begin, end}; }
  Span Elsewhere() const { return {prelude_, 3, 5}; }

  SourceSet sources_;
  FileId file_;
  FileId prelude_;
  Diagnostics diagnostics_;
  Reporter reporter_;
};

TEST_F(ReporterTest, SaysTheSameOnce) {
  for (int i = 0; i < 3; ++i) reporter_.Report(Error(Code::kE0201, "unknown name `a`").At(At(0, 5), "here"));
  reporter_.Report(Error(Code::kE0201, "unknown name `a`").At(At(11, 17), "here"));
  EXPECT_EQ(diagnostics_.items().size(), 2u);
  EXPECT_TRUE(reporter_.has_errors());
}

TEST_F(ReporterTest, MovesAPlaceOutsideTheFileToTheCall) {
  reporter_.EnterCall(At(11, 17), "attention");
  reporter_.EnterCall(Elsewhere(), "dense");
  reporter_.Report(Error(Code::kE0212, "5 heads do not divide 12").At(Elsewhere(), "asserted"));
  ASSERT_EQ(diagnostics_.items().size(), 1u);
  const Diagnostic& diagnostic = diagnostics_.items()[0];
  ASSERT_EQ(diagnostic.labels.size(), 1u);
  EXPECT_EQ(diagnostic.labels[0], (Label{At(11, 17), "asserted"}));
  EXPECT_EQ(diagnostic.notes, std::vector<std::string>{"found while expanding `dense`"});
}

TEST_F(ReporterTest, ShowsTheModelsCallOfAFunction) {
  reporter_.EnterCall(At(0, 5), "head");
  reporter_.Report(Error(Code::kE0201, "unknown name `a`").At(At(11, 17), "here"));
  ASSERT_EQ(diagnostics_.items().size(), 1u);
  EXPECT_EQ(diagnostics_.items()[0].labels.back(), (Label{At(0, 5), "in this call of `head`"}));
}

TEST_F(ReporterTest, LinesAreThoseOfTheModel) {
  EXPECT_EQ(reporter_.ModelLine(At(11, 17)), 2);
  reporter_.EnterCall(At(23, 28), "block");
  reporter_.EnterCall(Elsewhere(), "dense");
  EXPECT_EQ(reporter_.ModelLine(Elsewhere()), 3);
}

TEST_F(ReporterTest, DropsWarningsAfterAnError) {
  reporter_.Report(Warning(Code::kW0611, "`h` is never used").At(At(0, 5), "defined here"));
  EXPECT_TRUE(diagnostics_.items().empty());
  reporter_.Flush();
  EXPECT_EQ(diagnostics_.items().size(), 1u);
  reporter_.Report(Warning(Code::kW0611, "`k` is never used").At(At(11, 17), "defined here"));
  reporter_.Report(Error(Code::kE0201, "unknown name `a`").At(At(0, 5), "here"));
  reporter_.Flush();
  EXPECT_EQ(diagnostics_.items().size(), 2u);
}

TEST_F(ReporterTest, NamesTheOverrideWhereThereIsNoPlace) {
  reporter_.SetContext("`--set epochs=0`");
  reporter_.Report(Error(Code::kE0508, "`epochs` must be at least 1").At(Elsewhere(), "this is 0"));
  ASSERT_EQ(diagnostics_.items().size(), 1u);
  EXPECT_EQ(diagnostics_.items()[0].message, "`--set epochs=0`: `epochs` must be at least 1");
}

TEST_F(ReporterTest, KeepsAPlaceOnTheCommandLineWhereTheMessageDoesNotNameIt) {
  const Span argument{sources_.Add("--set seed=x", "seed = x", TextOrigin::kCommandLine), 7, 8};
  reporter_.Report(Error(Code::kE0508, "said later").At(argument, "this is x"));
  reporter_.SetContext("`--set seed=x`");
  reporter_.Report(Error(Code::kE0508, "said now").At(argument, "this is x"));
  ASSERT_EQ(diagnostics_.items().size(), 2u);
  EXPECT_EQ(diagnostics_.items()[0].labels, (std::vector<Label>{{argument, "this is x"}}));
  EXPECT_TRUE(diagnostics_.items()[1].labels.empty());
  EXPECT_EQ(diagnostics_.items()[1].message, "`--set seed=x`: said now");
}

}  // namespace
}  // namespace cleave::frontend
