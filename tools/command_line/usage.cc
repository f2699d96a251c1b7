#include "tools/command_line/usage.h"

#include "absl/strings/str_cat.h"
#include "base/json/json.h"

namespace cleave::tools {

ErrorFormat FormatAskedFor(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--error-format=json") return ErrorFormat::kJson;
    if (words[i] == "--error-format" && i + 1 < words.size() && words[i + 1] == "json") return ErrorFormat::kJson;
  }
  return ErrorFormat::kText;
}

std::string UsageErrorText(ErrorFormat format, const std::string& message, const std::string& help) {
  if (format == ErrorFormat::kText) {
    return absl::StrCat("error: ", message, "\n", help.empty() ? "" : absl::StrCat("help: ", help, "\n"));
  }
  Json helps = Json::array();
  if (!help.empty()) helps.push_back(help);
  const Json object = {{"severity", "error"},    {"code", nullptr},        {"message", message},
                       {"spans", Json::array()}, {"notes", Json::array()}, {"help", helps}};
  return JsonLine(object) + "\n";
}

std::string DiagnosticsText(ErrorFormat format, const Diagnostics& diagnostics, const SourceSet& sources) {
  if (format == ErrorFormat::kText) return RenderText(diagnostics, sources);
  std::string text;
  for (const Diagnostic& each : diagnostics.items()) absl::StrAppend(&text, RenderJson(each, sources), "\n");
  return text;
}

}  // namespace cleave::tools
