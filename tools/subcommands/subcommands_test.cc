#include "tools/subcommands/subcommands.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tools/subcommands/completion.h"
#include "tools/subcommands/syntax.h"

namespace cleave::tools {
namespace {

struct Outcome {
  ExitCode code;
  std::string out, err;
};

Outcome Cleave(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const ExitCode code = RunCleave(words);
  const std::string out = testing::internal::GetCapturedStdout();
  return {code, out, testing::internal::GetCapturedStderr()};
}

TEST(SubcommandsTest, AreTheOnesThatTheDocumentationNames) {
  std::vector<std::string> names;
  for (const Subcommand& subcommand : Subcommands()) names.push_back(subcommand.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"compile", "run",    "sweep",     "plan",  "explain",    "diff",  "profile",
                                      "import",  "export", "weights",   "data",  "serve",      "watch", "fmt",
                                      "lsp",     "doctor", "calibrate", "clean", "completion", "help",  "version"}));
}

// What a description shows is what the parser takes.
TEST(SubcommandsTest, HelpOfEachListsItsSyntax) {
  for (const Subcommand& subcommand : Subcommands()) {
    SCOPED_TRACE(subcommand.name);
    const std::string help = Cleave({"help", subcommand.name}).out;
    EXPECT_TRUE(absl::StartsWith(help, absl::StrCat(subcommand.summary, ".\nUsage: cleave ", subcommand.name))) << help;
    EXPECT_EQ(Cleave({subcommand.name, "--help"}).out, help);
    const Syntax syntax = SyntaxOf(subcommand);
    for (const SyntaxPart& option : syntax.options) EXPECT_TRUE(absl::StrContains(help, option.name)) << option.name;
    for (const SyntaxPart& argument : syntax.arguments) {
      EXPECT_TRUE(absl::StrContains(help, absl::StrCat("\n  ", argument.name, " "))) << argument.name;
    }
    const Outcome mistyped = Cleave({subcommand.name, "--no-such-option"});
    EXPECT_EQ(mistyped.code, ExitCode::kUsage);
    EXPECT_TRUE(absl::StartsWith(mistyped.err, "error: unexpected `--no-such-option`")) << mistyped.err;
  }
}

TEST(SubcommandsTest, SyntaxSaysWhatValuesAre) {
  const Syntax compile = SyntaxOf(Subcommands()[0]);
  const auto find = [&](const std::string& name) {
    for (const SyntaxPart& option : compile.options) {
      if (option.name == name) return option;
    }
    return SyntaxPart();
  };
  EXPECT_EQ(find("--target").alternatives, (std::vector<std::string>{"cpu", "cuda"}));
  EXPECT_EQ(find("--out").alternatives, std::vector<std::string>{"FOLDER"});
  EXPECT_EQ(find("--run").alternatives, std::vector<std::string>());
  EXPECT_TRUE(find("--explain").is_value_optional);
  EXPECT_TRUE(find("--set").is_repeated);
  EXPECT_FALSE(find("--target").is_repeated);
  ASSERT_EQ(compile.arguments.size(), 1u);
  EXPECT_EQ(compile.arguments[0].alternatives, std::vector<std::string>{"FILE.model"});
}

TEST(SubcommandsTest, UnknownOnesGetTheNearest) {
  const Outcome outcome = Cleave({"complie", "a.model"});
  EXPECT_EQ(outcome.code, ExitCode::kUsage);
  EXPECT_EQ(outcome.err,
            "error: no subcommand `complie`; did you mean `compile`?\nhelp: `cleave help` lists the subcommands\n");
  EXPECT_EQ(Cleave({"help", "complie"}).err, outcome.err);
  EXPECT_EQ(Cleave({"--verison"}).err,
            "error: no subcommand `--verison`; did you mean `--version`?\nhelp: `cleave help` lists the subcommands\n");
  EXPECT_EQ(Cleave({"x.model"}).err, "error: no subcommand `x.model`\nhelp: `cleave help` lists the subcommands\n");
  EXPECT_TRUE(
      absl::StartsWith(Cleave({"complie", "--error-format=json"}).err, "{\"severity\":\"error\",\"code\":null"));
  EXPECT_EQ(Cleave({}).code, ExitCode::kUsage);
}

TEST(SubcommandsTest, VersionIsOneLine) {
  const Outcome outcome = Cleave({"--version"});
  EXPECT_EQ(outcome.code, ExitCode::kDone);
  EXPECT_EQ(outcome.out.substr(0, 7), "cleave ");
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
  EXPECT_EQ(Cleave({"version"}).out, outcome.out);
  EXPECT_EQ(Cleave({"--version", "please"}).code, ExitCode::kUsage);
}

TEST(SubcommandsTest, ExplainKnowsCodesFromModels) {
  EXPECT_TRUE(absl::StartsWith(Cleave({"explain", "e0304"}).out, "# E0304: "));
  EXPECT_TRUE(absl::StrContains(Cleave({"explain"}).out, "\nW0601: "));
  EXPECT_EQ(Cleave({"explain", "E0300"}).code, ExitCode::kUsage);
  EXPECT_TRUE(absl::StartsWith(Cleave({"explain", "E0304.model"}).err, "error[E0114]"));
  EXPECT_EQ(Cleave({"explain", "E0304.model"}).code, ExitCode::kModelWrong);
}

TEST(CompletionTest, HasEveryOptionOfEverySubcommand) {
  const std::string bash = BashCompletion(Subcommands());
  const std::string zsh = ZshCompletion(Subcommands());
  for (const Subcommand& subcommand : Subcommands()) {
    EXPECT_TRUE(absl::StrContains(bash, absl::StrCat("\n    ", subcommand.name, ")\n"))) << subcommand.name;
    EXPECT_TRUE(absl::StrContains(zsh, absl::StrCat("\n    ", subcommand.name, ")\n"))) << subcommand.name;
    for (const SyntaxPart& option : SyntaxOf(subcommand).options) {
      EXPECT_TRUE(absl::StrContains(bash, option.name)) << option.name;
      const std::string value = option.alternatives.empty() ? "[" : "=[";
      EXPECT_TRUE(absl::StrContains(zsh, absl::StrCat(option.name, value))) << option.name;
    }
  }
}

}  // namespace
}  // namespace cleave::tools
