#include "tools/export/config_text.h"

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"
#include "tools/import/config.h"

namespace cleave::tools {
namespace {

// Behind a string that begins at `at`.
size_t EndOfString(const std::string& text, size_t at) {
  for (++at; text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

// Behind a value of valid JSON that begins at `at`.
size_t EndOfValue(const std::string& text, size_t at) {
  if (text[at] == '"') return EndOfString(text, at);
  if (text[at] != '{' && text[at] != '[') return text.find_first_of(",]} \t\r\n", at);
  int depth = 0;
  do {
    const char c = text[at];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    at = c == '"' ? EndOfString(text, at) : at + 1;
  } while (depth > 0);
  return at;
}

}  // namespace

std::optional<std::string> WithField(const std::string& text, const std::string& path, const std::string& value) {
  const runtime::Result<runtime::Json> json = runtime::ParseJson(text);
  CLEAVE_CHECK(json.ok()) << json.error().message;
  if (const runtime::Json* const field = FieldAt(json.value(), path); field != nullptr) {
    return absl::StrCat(text.substr(0, field->offset), value, text.substr(EndOfValue(text, field->offset)));
  }
  const size_t dot = path.rfind('.');
  const runtime::Json* const object =
      dot == std::string::npos ? &json.value() : FieldAt(json.value(), path.substr(0, dot));
  if (object == nullptr || object->kind != runtime::Json::Kind::kObject) return std::nullopt;
  const size_t first = object->offset + 1;
  // As much space as there is before the field that comes first now.
  const size_t next = text.find_first_not_of(" \t\r\n", first);
  const std::string space = object->members.empty() ? "" : text.substr(first, next - first);
  return absl::StrCat(text.substr(0, first), space, "\"",
                      runtime::JsonEscaped(dot == std::string::npos ? path : path.substr(dot + 1)), "\": ", value,
                      object->members.empty() ? "" : ",", text.substr(first));
}

}  // namespace cleave::tools
