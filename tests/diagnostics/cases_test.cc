// Compiles the bad and the good side of every case, as a user would.

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/diagnostics/case_folder.h"
#include "tests/support/command.h"

namespace cleave::tests::diagnostics {
namespace {

namespace fs = std::filesystem;

// The result of one side of the case ("bad", "good"), in a fresh copy of its folder.
CommandResult RunSide(const CaseFolder& folder, const std::string& side) {
  const std::string copy = FreshFolder(folder.name);
  fs::copy(folder.path, copy, fs::copy_options::recursive);
  const std::string compiler = DataPath("tools/compile");
  const CaseInput& input = side == "bad" ? folder.bad : folder.good;
  const std::vector<std::string> command =
      input.script.has_value()
          ? std::vector<std::string>{"sh", absl::StrCat(side, ".sh")}
          : std::vector<std::string>{compiler, absl::StrCat(side, ".model"), "--plan-only", "--quiet"};
  const std::string path = absl::StrCat("PATH=", fs::path(compiler).parent_path().string(), ":", std::getenv("PATH"));
  // Under `bazel run` the compiler would leave the copy for the folder in which the user typed.
  CommandResult result = RunCommand(command, copy, {absl::StrCat("BUILD_WORKING_DIRECTORY=", copy), path});
  fs::remove_all(copy);
  // A message may show an absolute path; the golden has it relative to the case's folder.
  absl::StrReplaceAll({{absl::StrCat(copy, "/"), ""}}, &result.err);
  return result;
}

class CasesTest : public testing::TestWithParam<CaseFolder> {};

TEST_P(CasesTest, BadModelGetsItsDiagnostic) {
  const CaseFolder& folder = GetParam();
  const CommandResult result = RunSide(folder, "bad");
  EXPECT_EQ(result.exit_code, folder.exit_code) << result.err;
  EXPECT_NE(result.err.find(absl::StrCat("[", folder.code, "]: ")), std::string::npos) << result.err;
  if (FolderToBless().has_value()) {
    if (!HasFailure()) WriteText(absl::StrCat(folder.path, "/expected.txt"), result.err);
  } else {
    EXPECT_EQ(result.err, folder.expected.value_or("")) << "if this is right: ./bazelw run //:bless";
  }
}

TEST_P(CasesTest, GoodModelCompilesWithoutAWord) {
  const CommandResult result = RunSide(GetParam(), "good");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

std::string CaseName(const testing::TestParamInfo<CaseFolder>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, CasesTest, testing::ValuesIn(LoadCases()), CaseName);

}  // namespace
}  // namespace cleave::tests::diagnostics
