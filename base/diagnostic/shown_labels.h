// What both renderings show of a diagnostic's labels.
#ifndef CLEAVE_BASE_DIAGNOSTIC_SHOWN_LABELS_H_
#define CLEAVE_BASE_DIAGNOSTIC_SHOWN_LABELS_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"

namespace cleave {

// Those in files, which have lines.
inline std::vector<Label> ShownLabels(const Diagnostic& diagnostic, const SourceSet& sources) {
  std::vector<Label> shown;
  for (const Label& label : diagnostic.labels) {
    if (sources.IsIn(TextOrigin::kFile, label.span)) shown.push_back(label);
  }
  return shown;
}

// The notes, and before them one for each label in an argument: "asked for here: `--set memory=1KiB`".
inline std::vector<std::string> ShownNotes(const Diagnostic& diagnostic, const SourceSet& sources) {
  std::vector<std::string> shown;
  for (const Label& label : diagnostic.labels) {
    if (!sources.IsIn(TextOrigin::kCommandLine, label.span)) continue;
    shown.push_back(absl::StrCat(label.text, ": `", sources.file(*label.span.file).path(), "`"));
  }
  shown.insert(shown.end(), diagnostic.notes.begin(), diagnostic.notes.end());
  return shown;
}

}  // namespace cleave

#endif  // CLEAVE_BASE_DIAGNOSTIC_SHOWN_LABELS_H_
