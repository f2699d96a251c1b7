#include "base/json/json.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace cleave {

absl::Status JsonError(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

absl::StatusOr<Json> ParseStrictJson(absl::string_view text) {
  std::vector<std::set<std::string>> open_objects;
  std::string duplicate;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second) {
      duplicate = parsed.get<std::string>();
    }
    return true;
  };
  Json document = Json::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (document.is_discarded()) return absl::InvalidArgumentError("not valid JSON");
  if (!duplicate.empty())
    return absl::InvalidArgumentError(absl::StrCat("the key \"", duplicate, "\" occurs twice in one object"));
  return document;
}

absl::Status CheckFields(const Json& object, const std::string& where, const std::set<std::string>& required,
                         const std::set<std::string>& optional) {
  if (!object.is_object()) return JsonError(where, "expected an object");
  for (const std::string& name : required) {
    if (!object.contains(name)) return JsonError(where, absl::StrCat("the field \"", name, "\" is missing"));
  }
  for (const auto& [name, value] : object.items()) {
    if (required.count(name) == 0 && optional.count(name) == 0) {
      return JsonError(where, absl::StrCat("unknown field \"", name, "\""));
    }
  }
  return absl::OkStatus();
}

std::string JsonDocument(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string JsonLine(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

absl::StatusOr<std::string> StringAt(const Json& object, const char* field, const std::string& where) {
  const Json& value = object.at(field);
  if (!value.is_string()) return JsonError(absl::StrCat(where, ".", field), "expected a string");
  return value.get<std::string>();
}

absl::StatusOr<double> NumberAt(const Json& object, const char* field, const std::string& where) {
  const Json& value = object.at(field);
  if (!value.is_number()) return JsonError(absl::StrCat(where, ".", field), "expected a number");
  return value.get<double>();
}

absl::StatusOr<int64_t> IntegerAt(const Json& object, const char* field, const std::string& where) {
  const Json& value = object.at(field);
  if (!value.is_number_integer()) return JsonError(absl::StrCat(where, ".", field), "expected an integer");
  return value.get<int64_t>();
}

}  // namespace cleave
