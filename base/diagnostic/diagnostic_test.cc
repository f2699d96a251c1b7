#include "base/diagnostic/diagnostic.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace cleave {
namespace {

constexpr char kModel[] =
    "model M {\n"
    "#[shard((3, 1), (1, 1))]\n"
    "let h1 = matmul(x, w1, transpose_b = true);\n"
    "}\n";

Span Find(const SourceSet& sources, FileId file, const std::string& text) {
  const size_t begin = std::string(sources.file(file).text()).find(text);
  return Span{.file = file, .begin = static_cast<int32_t>(begin), .end = static_cast<int32_t>(begin + text.size())};
}

Code AnyCode() { return AllCodes().front(); }

TEST(DiagnosticTest, LooksLikeTheExampleOfTheLanguageReference) {
  SourceSet sources;
  const FileId file = sources.Add("mnist.model", kModel);
  const Diagnostic diagnostic = Error(AnyCode(), "8 devices cannot be divided into 3 slices")
                                    .At(Find(sources, file, "3"), "dimension 0 of `x` is to be cut into 3")
                                    .At(Find(sources, file, "x"), "`x` is f32[256, 784], from line 6")
                                    .Help("the mesh is 2 x 2 x 2: 1, 2, 4 or 8 slices are possible");
  EXPECT_EQ(RenderText(diagnostic, sources), "error[" + std::string(CodeName(AnyCode())) +
                                                 "]: 8 devices cannot be divided into 3 slices\n"
                                                 "  --> mnist.model:2:10\n"
                                                 "   |\n"
                                                 " 2 | #[shard((3, 1), (1, 1))]\n"
                                                 "   |          ^ dimension 0 of `x` is to be cut into 3\n"
                                                 " 3 | let h1 = matmul(x, w1, transpose_b = true);\n"
                                                 "   |                 - `x` is f32[256, 784], from line 6\n"
                                                 "   |\n"
                                                 "help: the mesh is 2 x 2 x 2: 1, 2, 4 or 8 slices are possible\n");
}

TEST(DiagnosticsTest, AWarningIsKeptOnce) {
  Diagnostics diagnostics;
  for (int i = 0; i < 2; ++i) diagnostics.Add(Warning(Code::kW0603, "nothing is cut"));
  diagnostics.Add(Warning(Code::kW0603, "something is cut"));
  EXPECT_EQ(diagnostics.items().size(), 2u);
}

TEST(DiagnosticTest, TabsAndUmlautsKeepLabelsUnderTheirText) {
  SourceSet sources;
  const FileId file = sources.Add("a.model", "\t\xC3\xA4 x\n");
  const std::string text = RenderText(Error(AnyCode(), "m").At(Find(sources, file, "x"), "here"), sources);
  EXPECT_NE(text.find(" 1 |     \xC3\xA4 x\n   |       ^ here\n"), std::string::npos) << text;
  EXPECT_NE(text.find("a.model:1:4"), std::string::npos) << text;
}

TEST(DiagnosticTest, LongLinesAreCutAroundTheLabel) {
  SourceSet sources;
  const FileId file = sources.Add("a.model", std::string(5000, 'a') + "!" + std::string(5000, 'b'));
  const std::string text = RenderText(Error(AnyCode(), "m").At(Find(sources, file, "!"), "here"), sources);
  EXPECT_LT(text.size(), 1000u);
  EXPECT_NE(text.find("!"), std::string::npos);
}

TEST(DiagnosticTest, LabelsBehindTheCutDoNotStretchTheExcerpt) {
  SourceSet sources;
  const FileId file = sources.Add("a.model", "?" + std::string(5000, 'a') + "!");
  const Diagnostic diagnostic =
      Error(AnyCode(), "m").At(Find(sources, file, "?"), "first").At(Find(sources, file, "!"), "last");
  const std::string text = RenderText(diagnostic, sources);
  EXPECT_LT(text.size(), 1000u) << text;
  EXPECT_NE(text.find("\n   | ^ first\n"), std::string::npos) << text;
  EXPECT_NE(text.find("- last\n"), std::string::npos) << text;
}

TEST(DiagnosticTest, TwoLabelsOnOneLineStandRightmostFirst) {
  SourceSet sources;
  const FileId file = sources.Add("a.model", "add(left, right)\n");
  const Diagnostic diagnostic =
      Error(AnyCode(), "m").At(Find(sources, file, "left"), "f32").At(Find(sources, file, "right"), "i32");
  const std::string text = RenderText(diagnostic, sources);
  EXPECT_NE(text.find(" 1 | add(left, right)\n"
                      "   |           ----- i32\n"
                      "   |     ^^^^ f32\n"),
            std::string::npos)
      << text;
}

TEST(DiagnosticTest, DistantLinesAreSeparatedAndNumbersAreAligned) {
  SourceSet sources;
  const FileId file = sources.Add("a.model", "x\n\n\n\n\n\n\n\n\ny\n\nz\n");
  const Diagnostic diagnostic = Error(AnyCode(), "m")
                                    .At(Find(sources, file, "y"), "ten")
                                    .At(Find(sources, file, "x"), "one")
                                    .At(Find(sources, file, "z"), "twelve");
  EXPECT_EQ(RenderText(diagnostic, sources), "error[" + std::string(CodeName(AnyCode())) +
                                                 "]: m\n"
                                                 "   --> a.model:10:1\n"
                                                 "    |\n"
                                                 "  1 | x\n"
                                                 "    | - one\n"
                                                 "...\n"
                                                 " 10 | y\n"
                                                 "    | ^ ten\n"
                                                 " 11 |\n"
                                                 " 12 | z\n"
                                                 "    | - twelve\n");
}

TEST(DiagnosticTest, LabelsInSeveralFilesEachNameTheirFile) {
  SourceSet sources;
  const FileId model = sources.Add("a.model", "dense(x)\n");
  const FileId prelude = sources.Add("prelude.model", "\nfn dense(y) {}\n");
  const Diagnostic diagnostic =
      Error(AnyCode(), "m").At(Find(sources, model, "x"), "here").At(Find(sources, prelude, "y"), "there").Note("n");
  EXPECT_EQ(RenderText(diagnostic, sources), "error[" + std::string(CodeName(AnyCode())) +
                                                 "]: m\n"
                                                 "  --> a.model:1:7\n"
                                                 "   |\n"
                                                 " 1 | dense(x)\n"
                                                 "   |       ^ here\n"
                                                 "   |\n"
                                                 "  ::: prelude.model:2:10\n"
                                                 "   |\n"
                                                 " 2 | fn dense(y) {}\n"
                                                 "   |          - there\n"
                                                 "   |\n"
                                                 "note: n\n");
}

TEST(DiagnosticTest, RangeOfSeveralLinesIsMarkedToTheEndOfItsFirst) {
  SourceSet sources;
  const FileId file = sources.Add("a.model", "f(a,\n  b)\n");
  const std::string text = RenderText(Error(AnyCode(), "m").At(Find(sources, file, "a,\n  b"), "here"), sources);
  EXPECT_NE(text.find(" 1 | f(a,\n   |   ^^ here\n"), std::string::npos) << text;
}

TEST(DiagnosticTest, EmptyRangeAtTheEndOfTheFileIsShown) {
  SourceSet sources;
  const FileId file = sources.Add("a.model", "x");
  const std::string text = RenderText(Error(AnyCode(), "m").At(Span{file, 1, 1}, "here"), sources);
  EXPECT_NE(text.find(" 1 | x\n   |  ^ here\n"), std::string::npos) << text;
}

TEST(DiagnosticTest, LabelsInArgumentsBecomeNotes) {
  SourceSet sources;
  const FileId file = sources.Add("a.model", "x");
  const FileId argument = sources.Add("--set memory=1KiB", "memory = 1KiB", TextOrigin::kCommandLine);
  const FileId prelude = sources.Add("prelude.model", "x", TextOrigin::kBuiltIn);
  const Diagnostic error = Error(AnyCode(), "m")
                               .At(Span{argument, 9, 13}, "asked for here")
                               .At(Span{file, 0, 1}, "here")
                               .At(Span{prelude, 0, 1}, "there")
                               .At(Span{}, "nowhere")
                               .Note("n");
  const Diagnostic shown =
      Error(AnyCode(), "m").At(Span{file, 0, 1}, "here").Note("asked for here: `--set memory=1KiB`").Note("n");
  EXPECT_EQ(RenderText(error, sources), RenderText(shown, sources));
  EXPECT_EQ(RenderJson(error, sources), RenderJson(shown, sources));
}

TEST(DiagnosticTest, JsonHasEveryFieldOnOneLine) {
  SourceSet sources;
  const FileId file = sources.Add("mnist.model", kModel);
  const std::string json = RenderJson(
      Error(AnyCode(), "a \"quoted\" message").At(Find(sources, file, "h1"), "here").Note("n").Help("h"), sources);
  EXPECT_EQ(json, "{\"severity\":\"error\",\"code\":\"" + std::string(CodeName(AnyCode())) +
                      "\",\"message\":\"a \\\"quoted\\\" message\",\"spans\":[{\"file\":\"mnist.model\",\"line\":3,"
                      "\"column\":5,\"end_line\":3,\"end_column\":7,\"label\":\"here\",\"primary\":true}],"
                      "\"notes\":[\"n\"],\"help\":[\"h\"]}");
}

TEST(DiagnosticsTest, KeepsTwentyErrorsAndCountsTheRest) {
  Diagnostics diagnostics;
  for (int i = 0; i < 25; ++i) diagnostics.Add(Error(AnyCode(), "m"));
  EXPECT_EQ(diagnostics.error_count(), 25);
  EXPECT_EQ(diagnostics.items().size(), 20u);
  EXPECT_NE(RenderText(diagnostics, SourceSet()).find("\n5 more errors not shown\n"), std::string::npos);
}

TEST(DiagnosticsTest, WarningsAreNoErrors) {
  Diagnostics diagnostics;
  diagnostics.Add(Warning(AnyCode(), "m"));
  EXPECT_FALSE(diagnostics.has_errors());
}

TEST(CodeTest, NamesAreUnique) {
  std::set<std::string> names;
  for (Code code : AllCodes()) EXPECT_TRUE(names.insert(std::string(CodeName(code))).second) << CodeName(code);
}

}  // namespace
}  // namespace cleave
