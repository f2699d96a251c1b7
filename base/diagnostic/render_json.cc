#include <string>

#include "base/diagnostic/diagnostic.h"
#include "base/diagnostic/severity.h"
#include "base/diagnostic/shown_labels.h"
#include "base/json/json.h"

namespace cleave {

std::string RenderJson(const Diagnostic& diagnostic, const SourceSet& sources) {
  Json spans = Json::array();
  for (const Label& label : ShownLabels(diagnostic, sources)) {
    const SourceFile& file = sources.file(*label.span.file);
    const LineColumn begin = file.Locate(label.span.begin);
    const LineColumn end = file.Locate(label.span.end);
    spans.push_back({{"file", file.path()},
                     {"line", begin.line},
                     {"column", begin.column},
                     {"end_line", end.line},
                     {"end_column", end.column},
                     {"label", label.text},
                     {"primary", spans.empty()}});
  }
  const Json object = {{"severity", std::string(SeverityName(diagnostic.severity))},
                       {"code", std::string(CodeName(diagnostic.code))},
                       {"message", diagnostic.message},
                       {"spans", spans},
                       {"notes", ShownNotes(diagnostic, sources)},
                       {"help", diagnostic.help}};
  return JsonLine(object);
}

}  // namespace cleave
