#include "tests/diagnostics/case_folder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"

namespace cleave::tests::diagnostics {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> ReadIfThere(const fs::path& path) {
  if (!fs::is_regular_file(path)) return std::nullopt;
  return ReadText(path.string());
}

CaseFolder Load(const fs::path& folder) {
  CaseFolder loaded{.name = folder.filename().string(), .path = folder.string()};
  loaded.code = loaded.name.substr(0, loaded.name.find('_'));
  loaded.bad = {.model = ReadIfThere(folder / "bad.model"), .script = ReadIfThere(folder / "bad.sh")};
  loaded.good = {.model = ReadIfThere(folder / "good.model"), .script = ReadIfThere(folder / "good.sh")};
  loaded.expected = ReadIfThere(folder / "expected.txt");
  loaded.exit_code = loaded.code[0] == 'W' ? 0 : 3;
  if (const std::optional<std::string> number = ReadIfThere(folder / "exit_code.txt")) {
    EXPECT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(*number), &loaded.exit_code)) << folder;
  }
  return loaded;
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const CaseFolder& folder) { return stream << folder.name; }

std::vector<CaseFolder> LoadCases() {
  const std::string cases = ProjectPath("tests/diagnostics/cases");
  std::vector<CaseFolder> loaded;
  if (!fs::is_directory(cases)) return loaded;
  for (const fs::directory_entry& entry : fs::directory_iterator(cases)) {
    EXPECT_TRUE(entry.is_directory()) << entry.path() << " is no folder";
    if (entry.is_directory()) loaded.push_back(Load(entry.path()));
  }
  std::sort(loaded.begin(), loaded.end(), [](const CaseFolder& a, const CaseFolder& b) { return a.name < b.name; });
  return loaded;
}

std::string ProjectPath(const std::string& path) {
  const std::optional<std::string> root = FolderToBless();
  return root.has_value() ? *root + "/" + path : path;
}

}  // namespace cleave::tests::diagnostics
