// A message about a mistake of the user: a code, a place, the reason with numbers, and help that can be pasted.
//
//   diagnostics.Add(Error(Code::kE0201, "unknown name `relo`")
//                       .At(name.span, "not defined here")
//                       .Help("did you mean `relu`?"));
//
// Messages are lower case without a full stop, with names in backticks. The first label is the primary one and covers
// the narrowest wrong range. codes.def lists the codes, and each has a page under docs/errors/. Not thread-safe.
#ifndef CLEAVE_BASE_DIAGNOSTIC_DIAGNOSTIC_H_
#define CLEAVE_BASE_DIAGNOSTIC_DIAGNOSTIC_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/source/source.h"

namespace cleave {

// Every code that the compiler can print, from codes.def: CLEAVE_CODE(E0304, "short title").
enum class Code {
#define CLEAVE_CODE(code, title) k##code,
#include "base/diagnostic/codes.def"
#undef CLEAVE_CODE
};

// "E0304".
absl::string_view CodeName(Code code);

// The short title of codes.def, for lists of codes.
absl::string_view CodeTitle(Code code);

absl::Span<const Code> AllCodes();

enum class Severity { kError, kWarning, kNote };

// A range of source text and what is wrong (or relevant) there.
struct Label {
  Span span;
  std::string text;

  bool operator==(const Label&) const = default;
};

struct Diagnostic {
  Severity severity = Severity::kError;
  Code code{};
  std::string message;
  std::vector<Label> labels;  // The first is the primary one; empty where the mistake has no place in a text.
  std::vector<std::string> notes;
  std::vector<std::string> help;

  // Each returns *this, so that a diagnostic can be written as one expression. A label without a place is left out.
  Diagnostic&& At(Span span, std::string text) &&;
  Diagnostic&& Note(std::string text) &&;
  Diagnostic&& Help(std::string text) &&;

  bool operator==(const Diagnostic&) const = default;
};

Diagnostic Error(Code code, std::string message);
Diagnostic Warning(Code code, std::string message);

// The diagnostics of one compile, in the order in which they were found. Keeps the first 20 errors and counts the rest.
// A warning or note that several stages give, or one gives several times, is kept once; an error each time.
class Diagnostics {
 public:
  void Add(Diagnostic diagnostic);
  void AddAll(const Diagnostics& others);  // All that `others` keeps.

  bool has_errors() const { return error_count_ > 0; }
  int error_count() const { return error_count_; }
  const std::vector<Diagnostic>& items() const { return items_; }

 private:
  std::vector<Diagnostic> items_;
  int error_count_ = 0;
};

// One diagnostic as people read it: header, source excerpt with underlined labels, notes, help; ends with a newline.
// Every line of the excerpt is cut to 160 columns around the label.
std::string RenderText(const Diagnostic& diagnostic, const SourceSet& sources);

// One JSON object on one line (docs/formats/exit_codes.md: "Errors as JSON"), without a newline.
std::string RenderJson(const Diagnostic& diagnostic, const SourceSet& sources);

// All of them, and after more than 20 errors a line that says how many were left out.
std::string RenderText(const Diagnostics& diagnostics, const SourceSet& sources);

}  // namespace cleave

#endif  // CLEAVE_BASE_DIAGNOSTIC_DIAGNOSTIC_H_
