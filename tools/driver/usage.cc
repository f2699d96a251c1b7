#include "tools/driver/usage.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace cleave {

std::string UsageErrorText(ErrorFormat format, const std::string& message, const std::string& help) {
  using Json = nlohmann::ordered_json;
  if (format == ErrorFormat::kText) {
    return absl::StrCat("error: ", message, "\n", help.empty() ? "" : absl::StrCat("help: ", help, "\n"));
  }
  Json helps = Json::array();
  if (!help.empty()) helps.push_back(help);
  const Json object = {{"severity", "error"},    {"code", nullptr},        {"message", message},
                       {"spans", Json::array()}, {"notes", Json::array()}, {"help", helps}};
  // What was typed need not be UTF-8.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cleave
