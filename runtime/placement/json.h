// Private to runtime/placement: reads JSON strictly (RFC 8259). A key that is given twice in one object is an error.
#ifndef CLEAVE_RUNTIME_PLACEMENT_JSON_H_
#define CLEAVE_RUNTIME_PLACEMENT_JSON_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cleave::runtime {

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  std::string text;                                   // A string's content; a number or bool as it is written.
  std::vector<Json> items;                            // Of an array.
  std::vector<std::pair<std::string, Json>> members;  // Of an object, in the order of the text.

  const Json* Find(const std::string& key) const;  // Null where there is none.
};

// nullopt where `text` is not one JSON value; values nested deeper than 64 are refused.
std::optional<Json> ParseJson(const std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_PLACEMENT_JSON_H_
