// JSON: strict reading, in which everything that a reader does not expect is an error with its place, and writing.
//
//   CLEAVE_ASSIGN_OR_RETURN(const Json document, ParseStrictJson(text));
//   CLEAVE_RETURN_IF_ERROR(CheckFields(document, "plan", {"version"}, {"warnings"}));
//   CLEAVE_ASSIGN_OR_RETURN(const int64_t version, IntegerAt(document, "version", "plan"));
//
// `where` is the path of `object`, as messages show it: "links[0].curve", "ops[`relu`].factors" (the item whose name is
// `relu`); a first word that is no field of the document, such as "plan" here, is the document. WithPlace finds its
// line and column. Errors are InvalidArgument. Functions that read a field REQUIRE that CheckFields found it.
#ifndef CLEAVE_BASE_JSON_JSON_H_
#define CLEAVE_BASE_JSON_JSON_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace cleave {

using Json = nlohmann::ordered_json;

// "WHERE: WHAT".
absl::Status JsonError(const std::string& where, const std::string& what);

// The document; an object in which a key occurs twice is refused, and so are values nested more than 100 deep. Errors
// of the text and of its keys say line and column.
absl::StatusOr<Json> ParseStrictJson(absl::string_view text);

// An error of JsonError about the document in `text`, with the line and the column of its place, or of the nearest
// place around it that there is, in front. Other statuses stay as they are.
absl::Status WithPlace(absl::Status status, absl::string_view text);

// `object` is an object with all of the `required` fields, some of the `optional` ones and no others.
absl::Status CheckFields(const Json& object, const std::string& where, const std::set<std::string>& required,
                         const std::set<std::string>& optional = {});

// The fields of objects in the order in which they were added; text that is not UTF-8 (a path, say) with a replacement
// for each wrong byte. JsonDocument: one value a line, indented, with a newline at the end. JsonLine: one line without.
std::string JsonDocument(const Json& json);
std::string JsonLine(const Json& json);

// The object of these fields, whose names differ: JsonObject({{"name", op.name}, {"line", op.line}}). A list of fields
// that is a Json by itself is the same, but copies all of them.
template <size_t kCount>
Json JsonObject(std::pair<const char*, Json> (&&fields)[kCount]) {
  Json::object_t object;
  object.reserve(kCount);
  for (auto& [name, value] : fields) object.emplace_back(name, std::move(value));
  return Json(std::move(object));
}

absl::StatusOr<std::string> StringAt(const Json& object, const char* field, const std::string& where);
absl::StatusOr<double> NumberAt(const Json& object, const char* field, const std::string& where);
absl::StatusOr<int64_t> IntegerAt(const Json& object, const char* field, const std::string& where);

}  // namespace cleave

#endif  // CLEAVE_BASE_JSON_JSON_H_
