// One folder of cases/: a model that gets a diagnostic, and the same repaired.
#ifndef CLEAVE_TESTS_DIAGNOSTICS_CASE_FOLDER_H_
#define CLEAVE_TESTS_DIAGNOSTICS_CASE_FOLDER_H_

#include <optional>
#include <string>
#include <vector>

namespace cleave::diagnostics {

struct CaseFolder {
  std::string name = {};  // "E0304_three_slices".
  std::string code = {};  // "E0304".
  std::string path = {};
  std::optional<std::string> bad = {};       // bad.model; absent where prepare.sh makes it.
  std::optional<std::string> good = {};      // good.model, likewise.
  std::optional<std::string> prepare = {};   // prepare.sh.
  std::optional<std::string> expected = {};  // expected.txt.
  std::vector<std::string> arguments = {};
  int exit_code = 3;  // For the bad model.
};

// All folders under `cases`, by name. Fails the running test for a file where a folder belongs.
std::vector<CaseFolder> LoadCases(const std::string& cases);

// The folder of the project in which goldens are to be rewritten, when the test is run to do that (//:bless).
std::optional<std::string> FolderToBless();

}  // namespace cleave::diagnostics

#endif  // CLEAVE_TESTS_DIAGNOSTICS_CASE_FOLDER_H_
