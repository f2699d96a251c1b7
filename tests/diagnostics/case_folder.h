// One folder of cases/: a model that gets a diagnostic, and the repaired model.
#ifndef CLEAVE_TESTS_DIAGNOSTICS_CASE_FOLDER_H_
#define CLEAVE_TESTS_DIAGNOSTICS_CASE_FOLDER_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace cleave::tests::diagnostics {

// How one side of a case is compiled: a model alone, or commands that call `compile`, which is on the PATH.
struct CaseInput {
  std::optional<std::string> model =
      {};  // bad.model, good.model: read by `compile --plan-only --quiet`, or by the script.
  std::optional<std::string> script = {};  // bad.sh, good.sh.

  bool exists() const { return model.has_value() || script.has_value(); }
};

struct CaseFolder {
  std::string name = {};  // "E0304_three_slices".
  std::string code = {};  // "E0304".
  std::string path = {};
  CaseInput bad = {};
  CaseInput good = {};
  std::optional<std::string> expected = {};  // expected.txt.
  int exit_code = 3;                         // For the bad side.
};

// By name, in the reports of tests.
std::ostream& operator<<(std::ostream& stream, const CaseFolder& folder);

// A path of the project: among the test's data, or in FolderToBless().
std::string ProjectPath(const std::string& path);

// All folders under tests/diagnostics/cases, by name. Fails the running test for a file where a folder belongs.
std::vector<CaseFolder> LoadCases();

}  // namespace cleave::tests::diagnostics

#endif  // CLEAVE_TESTS_DIAGNOSTICS_CASE_FOLDER_H_
