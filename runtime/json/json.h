// Reads JSON strictly (RFC 8259). A member that an object has twice is an error.
//
//   Result<Json> json = ParseJson(text);
//   if (!json.ok()) return Error{ExitCode::kInput, Format("the index `%s` %s", path, json.error().message.c_str())};
//   Result<int64_t> step = IntegerMember(json.value(), "step");
//
// The messages of this crate are the ends of sentences: their subject, what the text belongs to, is put in front by the
// caller. Every Error has exit code 3.
#ifndef CLEAVE_RUNTIME_JSON_JSON_H_
#define CLEAVE_RUNTIME_JSON_JSON_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

struct JsonMember;

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  size_t offset = 0;                // In the text.
  std::string text;                 // A string's content; a number or bool as it is written.
  std::vector<Json> items;          // Of an array.
  std::vector<JsonMember> members;  // Of an object, sorted by name.

  // By binary search; null where there is none.
  const Json* Find(const std::string& name) const;
};

struct JsonMember {
  std::string name;
  Json value;
};

// "line 3, column 14" of a byte of `text`; columns count characters of UTF-8.
std::string PlaceIn(const std::string& text, size_t offset);

// An Error that says "is not valid JSON at line 3, column 14" where `text` is not one JSON value, or "has the member
// `a` twice, at line 3, column 14". Values nested deeper than 64 are refused.
Result<Json> ParseJson(const std::string& text);

// A whole number that is written without fraction and exponent and fits; nullopt for any other value.
std::optional<int64_t> JsonInteger(const Json& value);

// A member of an object, of an expected kind. The Error says "has no `step`" or "has a `step` that is not a whole
// number of 64 bits". The pointers are valid as long as `object`.
Result<int64_t> IntegerMember(const Json& object, const std::string& name);
Result<std::vector<int64_t>> IntegersMember(const Json& object, const std::string& name);  // An array of them.
Result<std::string> StringMember(const Json& object, const std::string& name);
Result<const Json*> ArrayMember(const Json& object, const std::string& name);
Result<const Json*> ObjectMember(const Json& object, const std::string& name);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_JSON_JSON_H_
