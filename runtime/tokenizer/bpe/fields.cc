#include "runtime/tokenizer/bpe/fields.h"

#include <algorithm>
#include <cstring>

#include "runtime/json/json_writer.h"

namespace cleave::runtime {

Error WrongTokenizer(const std::string& message) { return {ExitCode::kInput, message}; }

std::optional<Error> Fields::Only(std::initializer_list<const char*> names) const {
  if (object_.kind != Json::Kind::kObject)
    return WrongTokenizer(Format("has %s, which is not an object", what_.c_str()));
  for (const auto& [name, value] : object_.members) {
    const auto is_this = [&known = name](const char* other) { return known == other; };
    if (std::any_of(names.begin(), names.end(), is_this)) continue;
    return WrongTokenizer(Format("has `%s` in %s, which is not supported", JsonEscaped(name).c_str(), what_.c_str()));
  }
  return std::nullopt;
}

const Json* Fields::Find(const char* name) const {
  const Json* const member = object_.Find(name);
  return member == nullptr || member->kind == Json::Kind::kNull ? nullptr : member;
}

Result<const Json*> Fields::Expect(const char* name, Json::Kind kind, const char* expected) const {
  const Json* const member = object_.Find(name);
  if (member == nullptr) return WrongTokenizer(Format("has no `%s` in %s", name, what_.c_str()));
  if (member->kind == kind) return member;
  return WrongTokenizer(Format("has a `%s` in %s that is not %s", name, what_.c_str(), expected));
}

Result<std::string> Fields::String(const char* name) const {
  const Result<const Json*> member = Expect(name, Json::Kind::kString, "a string");
  if (!member.ok()) return member.error();
  return member.value()->text;
}

Result<std::string> Fields::String(const char* name, const std::string& otherwise) const {
  if (Find(name) == nullptr) return otherwise;
  return String(name);
}

Result<int64_t> Fields::Integer(const char* name) const {
  const Result<const Json*> member = Expect(name, Json::Kind::kNumber, "a number");
  if (!member.ok()) return member.error();
  const std::optional<int64_t> number = JsonInteger(*member.value());
  if (number.has_value()) return *number;
  return WrongTokenizer(Format("has a `%s` in %s that is not a whole number of 64 bits", name, what_.c_str()));
}

Result<bool> Fields::Bool(const char* name) const {
  const Result<const Json*> member = Expect(name, Json::Kind::kBool, "true or false");
  if (!member.ok()) return member.error();
  return member.value()->text == "true";
}

Result<bool> Fields::Bool(const char* name, bool otherwise) const {
  if (Find(name) == nullptr) return otherwise;
  return Bool(name);
}

Result<const std::vector<Json>*> Fields::Array(const char* name) const {
  const Result<const Json*> member = Expect(name, Json::Kind::kArray, "an array");
  if (!member.ok()) return member.error();
  return &member.value()->items;
}

Error Fields::NotSupported(const char* name, const std::string& value) const {
  return WrongTokenizer(
      Format("has `%s` as the `%s` of %s, which is not supported", JsonEscaped(value).c_str(), name, what_.c_str()));
}

}  // namespace cleave::runtime
