#include "base/json/json.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/json/json_place.h"

namespace cleave {
namespace {

constexpr int kDeepest = 100;

// The payload of a status of JsonError: the path of the place.
constexpr char kWhere[] = "cleave/json";

// Takes every event of a parse, and keeps where the text stops to be JSON.
class MistakeFinder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    mistake_ = position;
    return false;
  }

  // Counted from 0.
  size_t mistake() const { return std::max<size_t>(mistake_, 1) - 1; }

 private:
  size_t mistake_ = 0;
};

// `place`: the path whose line and column are wanted.
absl::Status ErrorAbout(const std::string& where, const std::string& place, const std::string& what) {
  absl::Status status = absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
  status.SetPayload(kWhere, absl::Cord(place));
  return status;
}

absl::Status ErrorAt(absl::string_view text, size_t offset, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(LineAndColumn(text, offset), ": ", what));
}

}  // namespace

absl::Status JsonError(const std::string& where, const std::string& what) { return ErrorAbout(where, where, what); }

absl::Status WithPlace(absl::Status status, absl::string_view text) {
  const auto where = status.GetPayload(kWhere);
  if (!where.has_value()) return status;
  return ErrorAt(text, FindJsonPlace(text, std::string(*where)), status.message());
}

absl::StatusOr<Json> ParseStrictJson(absl::string_view text) {
  std::vector<std::set<std::string>> open_objects;
  std::optional<std::string> duplicate;
  size_t keys = 0, keys_before_duplicate = 0;
  bool is_too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    // What is refused here is skipped and takes no memory.
    if (depth > kDeepest) {
      is_too_deep = true;
      return false;
    }
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event != Json::parse_event_t::key) return true;
    if (!open_objects.back().insert(parsed.get<std::string>()).second && !duplicate.has_value()) {
      duplicate = parsed.get<std::string>();
      keys_before_duplicate = keys;
    }
    ++keys;
    return true;
  };
  Json document = Json::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (is_too_deep) return absl::InvalidArgumentError(absl::StrCat("nested more than ", kDeepest, " deep"));
  if (document.is_discarded()) {
    MistakeFinder finder;
    Json::sax_parse(text.begin(), text.end(), &finder);
    return ErrorAt(text, finder.mistake(), "not valid JSON");
  }
  if (duplicate.has_value()) {
    return ErrorAt(text, FindJsonKey(text, keys_before_duplicate),
                   absl::StrCat("the key \"", *duplicate, "\" occurs twice in one object"));
  }
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
      return ErrorAbout(where, absl::StrCat(where, ".", name), absl::StrCat("unknown field \"", name, "\""));
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
