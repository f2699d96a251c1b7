// The page of a diagnostic code: a title, what it means in words, and examples that are taken from its first case.
#ifndef CLEAVE_TESTS_DIAGNOSTICS_PAGE_H_
#define CLEAVE_TESTS_DIAGNOSTICS_PAGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"
#include "tests/diagnostics/case_folder.h"

namespace cleave::tests::diagnostics {

// "# E0304: title", the first line of a page.
std::string PageTitle(Code code);

// `page` with its examples replaced by those of `folder`; title and words stay as they are.
std::string WithExamples(absl::string_view page, const CaseFolder& folder);

// The faults of the page of `code`: another title, no explanation, or examples that are not those of the case.
std::vector<std::string> PageFaults(Code code, absl::string_view page, const CaseFolder& folder);

}  // namespace cleave::tests::diagnostics

#endif  // CLEAVE_TESTS_DIAGNOSTICS_PAGE_H_
