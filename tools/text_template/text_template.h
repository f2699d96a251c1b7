// Texts with gaps and with parts for some cases only: models, mappings and pages that are written for a user.
//
//   vocab: int = ${vocab},
//   %if tied
//   let logits = matmul(normal, embed, transpose_b = true);
//   %else
//   let logits = dense(normal, vocab);
//   %end
//
// A line that begins with `%` is `%if NAME`, `%if not NAME`, `%else` or `%end`; parts may stand in parts. A name holds
// where it has a value that is neither empty nor `false`. Other lines stay as they are, but for gaps `${NAME}`.
#ifndef CLEAVE_TOOLS_TEXT_TEMPLATE_TEXT_TEMPLATE_H_
#define CLEAVE_TOOLS_TEXT_TEMPLATE_TEXT_TEMPLATE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cleave::tools {

using TemplateValues = std::map<std::string, std::string>;

bool Holds(const TemplateValues& values, const std::string& name);

// Errors (InvalidArgument) name the line: a gap whose name has no value, a part that does not end.
absl::StatusOr<std::string> FillTemplate(absl::string_view text, const TemplateValues& values);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_TEXT_TEMPLATE_TEXT_TEMPLATE_H_
