// Private to runtime/placement: reads JSON strictly (RFC 8259). A key that is given twice in one object is an error.
#ifndef CLEAVE_RUNTIME_PLACEMENT_JSON_H_
#define CLEAVE_RUNTIME_PLACEMENT_JSON_H_

#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  size_t offset = 0;                                  // In the text.
  std::string text;                                   // A string's content; a number or bool as it is written.
  std::vector<Json> items;                            // Of an array.
  std::vector<std::pair<std::string, Json>> members;  // Of an object, in the order of the text.

  const Json* Find(const std::string& key) const;  // Null where there is none.
};

// "line 3, column 14" of a byte of `text`; columns count characters of UTF-8.
std::string PlaceIn(const std::string& text, size_t offset);

// An Error that says "is not valid JSON at line 3, column 14" where `text` is not one JSON value. Values nested deeper
// than 64 and objects with more than 1000 members are refused.
Result<Json> ParseJson(const std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_PLACEMENT_JSON_H_
