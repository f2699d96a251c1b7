// Every code has four things that agree: its line in codes.def, its page, its case, and a similar model without the
// mistake.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "gtest/gtest.h"
#include "tests/diagnostics/case_folder.h"
#include "tests/diagnostics/page.h"
#include "tests/support/command.h"

namespace cleave::tests::diagnostics {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPages = "docs/errors";

std::set<std::string> CodeNames() {
  std::set<std::string> names;
  for (const Code code : AllCodes()) names.emplace(CodeName(code));
  return names;
}

// The first case of each code, by name.
std::map<std::string, CaseFolder> FirstCases() {
  std::map<std::string, CaseFolder> cases;
  for (CaseFolder& folder : LoadCases()) cases.emplace(folder.code, folder);
  return cases;
}

TEST(CodesTest, EveryCodeHasACase) {
  const std::map<std::string, CaseFolder> cases = FirstCases();
  for (const std::string& name : CodeNames()) {
    EXPECT_TRUE(cases.count(name)) << "tests/diagnostics/cases/" << name << "_... is missing";
  }
}

TEST(CodesTest, EveryCaseIsWhole) {
  const std::set<std::string> names = CodeNames();
  for (const CaseFolder& folder : LoadCases()) {
    EXPECT_TRUE(names.count(folder.code)) << folder.name << ": codes.def has no " << folder.code;
    EXPECT_TRUE(folder.bad.exists()) << folder.name << " has no bad.model";
    EXPECT_TRUE(folder.good.exists()) << folder.name << " has no good.model";
    const std::string mark = absl::StrCat("[", folder.code, "]: ");
    EXPECT_TRUE(FolderToBless() || absl::StrContains(folder.expected.value_or(""), mark))
        << folder.name << "/expected.txt does not show " << folder.code;
    EXPECT_FALSE(absl::StrContains(folder.expected.value_or(""), "]: \n"))
        << folder.name << "/expected.txt shows a diagnostic without a message";
  }
}

TEST(CodesTest, EveryCodeHasAPageWithTheExamplesOfItsFirstCase) {
  const std::map<std::string, CaseFolder> cases = FirstCases();
  for (const Code code : AllCodes()) {
    const std::string path = ProjectPath(absl::StrCat(kPages, "/", CodeName(code), ".md"));
    const auto found = cases.find(std::string(CodeName(code)));
    if (!fs::exists(path)) {
      ADD_FAILURE() << path << " is missing";
    } else if (found != cases.end()) {
      if (FolderToBless()) WriteText(path, WithExamples(ReadText(path), found->second));
      for (const std::string& fault : PageFaults(code, ReadText(path), found->second))
        ADD_FAILURE() << path << ": " << fault;
    }
  }
}

TEST(CodesTest, EveryPageBelongsToACode) {
  const std::set<std::string> names = CodeNames();
  for (const fs::directory_entry& entry : fs::directory_iterator(ProjectPath(std::string(kPages)))) {
    const fs::path& path = entry.path();
    if (path.extension() != ".md" || path.stem() == "README") continue;
    EXPECT_TRUE(names.count(path.stem().string())) << path << ": codes.def has no such code";
  }
}

}  // namespace
}  // namespace cleave::tests::diagnostics
