#include <string>

#include "base/diagnostic/diagnostic.h"
#include "base/diagnostic/severity.h"
#include "nlohmann/json.hpp"

namespace cleave {

std::string RenderJson(const Diagnostic& diagnostic, const SourceSet& sources) {
  using Json = nlohmann::ordered_json;
  Json spans = Json::array();
  for (const Label& label : diagnostic.labels) {
    const SourceFile& file = sources.file(label.span.file);
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
                       {"notes", diagnostic.notes},
                       {"help", diagnostic.help}};
  // Text that is not UTF-8, such as a path, must not make the report of a mistake fail.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cleave
