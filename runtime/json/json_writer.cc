#include "runtime/json/json_writer.h"

#include <cmath>

#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

std::string Quoted(const std::string& text) { return "\"" + JsonEscaped(text) + "\""; }

// JSON has no word for a number that is not finite.
std::string NumberText(double value) { return std::isfinite(value) ? Format("%.9g", value) : "null"; }

}  // namespace

std::string JsonEscaped(const std::string& text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      escaped += '\\';
      escaped += c;
    } else if (code < 0x20 || code == 0x7F) {
      escaped += Format("\\u%04x", code);
    } else {
      escaped += c;
    }
  }
  return escaped;
}

void JsonObject::AddText(const std::string& name, const std::string& value) {
  if (!members_.empty()) members_ += ",";
  members_ += Quoted(name) + ":" + value;
}

void JsonObject::Add(const std::string& name, const JsonObject& value) { AddText(name, value.Text()); }
void JsonObject::Add(const std::string& name, const JsonArray& value) { AddText(name, value.Text()); }
void JsonObject::Add(const std::string& name, const std::string& value) { AddText(name, Quoted(value)); }
void JsonObject::Add(const std::string& name, double value) { AddText(name, NumberText(value)); }
void JsonObject::AddInteger(const std::string& name, int64_t value) { AddText(name, std::to_string(value)); }
void JsonObject::AddWhole(const std::string& name, double value) { AddText(name, Format("%.0f", value)); }

JsonArray::JsonArray(const std::vector<int64_t>& values) {
  for (const int64_t value : values) AddInteger(value);
}

void JsonArray::AddText(const std::string& value) {
  if (!items_.empty()) items_ += ",";
  items_ += value;
}

void JsonArray::Add(const JsonObject& value) { AddText(value.Text()); }
void JsonArray::Add(const JsonArray& value) { AddText(value.Text()); }
void JsonArray::Add(const std::string& value) { AddText(Quoted(value)); }
void JsonArray::AddNumber(double value) { AddText(NumberText(value)); }
void JsonArray::AddInteger(int64_t value) { AddText(std::to_string(value)); }

}  // namespace cleave::runtime
