// Compiles the bad and the good model of every case, as a user would.

#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/diagnostics/case_folder.h"
#include "tests/support/command.h"

namespace cleave::diagnostics {
namespace {

namespace fs = std::filesystem;

// The compiler's answer to a model of the case, in a fresh copy of its folder.
CommandResult CompileIn(const CaseFolder& folder, const std::string& model) {
  const std::string copy = FreshFolder(folder.name);
  fs::copy(folder.path, copy, fs::copy_options::recursive);
  if (folder.prepare.has_value()) {
    const CommandResult prepared = RunCommand({"sh", "-e", "prepare.sh"}, copy);
    EXPECT_EQ(prepared.exit_code, 0) << folder.name << "/prepare.sh: " << prepared.err;
  }
  std::vector<std::string> command = {DataPath("tools/compile"), model, "--plan-only", "--quiet"};
  command.insert(command.end(), folder.arguments.begin(), folder.arguments.end());
  // Under `bazel run` the compiler would leave the copy for the folder in which the user typed.
  const CommandResult result = RunCommand(command, copy, {"BUILD_WORKING_DIRECTORY=" + copy});
  fs::remove_all(copy);
  return result;
}

class CasesTest : public testing::TestWithParam<CaseFolder> {};

TEST_P(CasesTest, BadModelGetsItsDiagnostic) {
  const CaseFolder& folder = GetParam();
  const CommandResult result = CompileIn(folder, "bad.model");
  EXPECT_EQ(result.exit_code, folder.exit_code) << result.err;
  EXPECT_NE(result.err.find(absl::StrCat("[", folder.code, "]: ")), std::string::npos) << result.err;
  if (const std::optional<std::string> root = FolderToBless(); root.has_value() && !HasFailure()) {
    WriteText(absl::StrCat(*root, "/tests/diagnostics/cases/", folder.name, "/expected.txt"), result.err);
  } else {
    EXPECT_EQ(result.err, folder.expected.value_or("")) << "if this is right: ./bazelw run //:bless";
  }
}

TEST_P(CasesTest, GoodModelCompilesWithoutAWord) {
  const CommandResult result = CompileIn(GetParam(), "good.model");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

std::string CaseName(const testing::TestParamInfo<CaseFolder>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, CasesTest, testing::ValuesIn(LoadCases("tests/diagnostics/cases")), CaseName);

}  // namespace
}  // namespace cleave::diagnostics
