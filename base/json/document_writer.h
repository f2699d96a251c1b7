// Writes a document of which only one part exists at a time.
//
//   JsonDocumentWriter writer;
//   writer.Field("version", 1);
//   writer.BeginItems("ops");
//   for (const Op& op : ops) writer.Item(JsonOf(op));
//   writer.EndItems();
//   return std::move(writer).Done();   // JsonDocument({{"version", 1}, {"ops", {…}}})
#ifndef CLEAVE_BASE_JSON_DOCUMENT_WRITER_H_
#define CLEAVE_BASE_JSON_DOCUMENT_WRITER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/json/json.h"

namespace cleave {

// Of an object with at least one field. Names differ, and need no escapes.
class JsonDocumentWriter {
 public:
  void Field(absl::string_view name, const Json& value);

  // A field whose value is a list.
  void BeginItems(absl::string_view name);
  void Item(const Json& value);
  void EndItems();

  std::string Done() &&;

 private:
  void Name(absl::string_view name);
  void Value(const Json& value, absl::string_view indent);

  std::string text_ = "{";
  bool has_fields_ = false;
  bool has_items_ = false;
};

}  // namespace cleave

#endif  // CLEAVE_BASE_JSON_DOCUMENT_WRITER_H_
