#include "tools/command_line/parse.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

struct Values {
  std::string target, plan, launch, op;
  bool quiet = false;
};

void Add(CLI::App& app, Values& values) {
  SetValue(app.add_option("--target", values.target, "Where it runs"), "cpu|cuda");
  SetValue(app.add_option("--plan", values.plan, "A plan"), "sapp|FILE.json");
  SetValue(app.add_option("--launch", values.launch, "How"), "local|rank-table FILE.json");
  app.add_flag("--quiet", values.quiet, "Print less");
}

std::string ErrorOf(const std::vector<std::string>& words, ErrorFormat format = ErrorFormat::kText) {
  Values values;
  CLI::App app("Does something.", "something");
  Add(app, values);
  const auto exit = Parse(app, words, format);
  if (!exit.has_value()) return "";
  EXPECT_EQ(exit->code, ExitCode::kUsage);
  return exit->text;
}

TEST(ParseTest, WordsAreCheckedWhereTheyAreAll) {
  EXPECT_EQ(ErrorOf({"--target", "cuda", "--plan", "anything", "--launch=everything", "--quiet"}), "");
  EXPECT_EQ(ErrorOf({"--target", "cud"}),
            "error: --target: `cud` is not `cpu` or `cuda`; did you mean `cuda`?\nhelp: `--help` lists the options\n");
}

TEST(ParseTest, UnexpectedWordsGetTheNearestOption) {
  EXPECT_EQ(ErrorOf({"--quite"}),
            "error: unexpected `--quite`; did you mean `--quiet`?\nhelp: `--help` lists the options\n");
  EXPECT_EQ(ErrorOf({"x", "--traget=cpu"}),
            "error: unexpected `x --traget=cpu`; did you mean `--target`?\nhelp: `--help` lists the options\n");
  EXPECT_EQ(ErrorOf({"y"}), "error: unexpected `y`\nhelp: `--help` lists the options\n");
  EXPECT_EQ(ErrorOf({"y"}, ErrorFormat::kJson),
            R"({"severity":"error","code":null,"message":"unexpected `y`","spans":[],"notes":[],)"
            R"("help":["`--help` lists the options"]})"
            "\n");
}

TEST(ParseTest, HelpShowsTheAlternatives) {
  Values values;
  CLI::App app("Does something.", "cleave something");
  Add(app, values);
  const auto exit = Parse(app, {"--help"});
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, ExitCode::kDone);
  EXPECT_NE(exit->text.find("Usage: cleave something [OPTIONS]"), std::string::npos) << exit->text;
  EXPECT_NE(exit->text.find("--target cpu|cuda"), std::string::npos) << exit->text;
}

TEST(ParseTest, AlternativesAreThoseOfTheDescription) {
  Values values;
  CLI::App app;
  Add(app, values);
  EXPECT_EQ(AlternativesOf(*app.get_option("--target")), (std::vector<std::string>{"cpu", "cuda"}));
  EXPECT_EQ(AlternativesOf(*app.get_option("--launch")), (std::vector<std::string>{"local", "rank-table FILE.json"}));
  EXPECT_EQ(AlternativesOf(*app.get_option("--quiet")), std::vector<std::string>());
}

TEST(ParseTest, TheFormatOfErrorsIsFoundInAnyCommandLine) {
  EXPECT_EQ(FormatAskedFor({"--bogus", "--error-format=json"}), ErrorFormat::kJson);
  EXPECT_EQ(FormatAskedFor({"--error-format", "json", "--bogus"}), ErrorFormat::kJson);
  EXPECT_EQ(FormatAskedFor({"--error-format"}), ErrorFormat::kText);
  EXPECT_EQ(FormatAskedFor({"json"}), ErrorFormat::kText);
}

}  // namespace
}  // namespace cleave::tools
