#include "tools/lsp/json_fields.h"

#include <limits>

namespace cleave::tools {

const Json& At(const Json& json, std::initializer_list<const char*> names) {
  static const Json& none = *new Json();
  const Json* at = &json;
  for (const char* name : names) {
    if (!at->is_object()) return none;
    const auto found = at->find(name);
    if (found == at->end()) return none;
    at = &*found;
  }
  return *at;
}

const Json& ListAt(const Json& json, const char* name) {
  static const Json& none = *new Json(Json::array());
  const Json& list = At(json, {name});
  return list.is_array() ? list : none;
}

std::string TextOf(const Json& json) { return json.is_string() ? json.get<std::string>() : ""; }

int64_t NumberOf(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto number = json.get<uint64_t>();
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return static_cast<int64_t>(number < kMost ? number : kMost);
  }
  return json.is_number_integer() ? json.get<int64_t>() : 0;
}

bool TruthOf(const Json& json) { return json.is_boolean() && json.get<bool>(); }

std::vector<std::string> TextsOf(const Json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const Json& each : list) texts.push_back(TextOf(each));
  return texts;
}

}  // namespace cleave::tools
