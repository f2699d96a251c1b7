// The labels that both renderings show.
#ifndef CLEAVE_BASE_DIAGNOSTIC_SHOWN_LABELS_H_
#define CLEAVE_BASE_DIAGNOSTIC_SHOWN_LABELS_H_

#include <vector>

#include "base/diagnostic/diagnostic.h"

namespace cleave {

// Those in files of `sources`. A setting may come from a text that is not among them, such as `--set`: there is no line
// of it to show.
inline std::vector<Label> ShownLabels(const Diagnostic& diagnostic, const SourceSet& sources) {
  std::vector<Label> shown;
  for (const Label& label : diagnostic.labels) {
    if (static_cast<size_t>(label.span.file.value()) < sources.size()) shown.push_back(label);
  }
  return shown;
}

}  // namespace cleave

#endif  // CLEAVE_BASE_DIAGNOSTIC_SHOWN_LABELS_H_
