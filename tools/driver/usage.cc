#include "tools/driver/usage.h"

#include "absl/strings/str_cat.h"
#include "base/json/json.h"

namespace cleave::tools {

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

}  // namespace cleave::tools
