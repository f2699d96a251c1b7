#include "base/json/document_writer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cleave {

void JsonDocumentWriter::Field(absl::string_view name, const Json& value) {
  Name(name);
  Value(value, " ");
}

void JsonDocumentWriter::BeginItems(absl::string_view name) {
  Name(name);
  text_ += '[';
  has_items_ = false;
}

void JsonDocumentWriter::Item(const Json& value) {
  absl::StrAppend(&text_, std::exchange(has_items_, true) ? "," : "", "\n  ");
  Value(value, "  ");
}

void JsonDocumentWriter::EndItems() { absl::StrAppend(&text_, has_items_ ? "\n " : "", "]"); }

std::string JsonDocumentWriter::Done() && {
  text_ += "\n}\n";
  return std::move(text_);
}

void JsonDocumentWriter::Name(absl::string_view name) {
  absl::StrAppend(&text_, std::exchange(has_fields_, true) ? "," : "", "\n \"", name, "\": ");
}

// Only lines of the document end in its text: strings have escapes instead.
void JsonDocumentWriter::Value(const Json& value, absl::string_view indent) {
  const std::string own = value.dump(1, ' ', false, Json::error_handler_t::replace);
  for (size_t begin = 0; begin < own.size();) {
    const size_t end = std::min(own.find('\n', begin), own.size() - 1) + 1;
    text_.append(own, begin, end - begin);
    if (own[end - 1] == '\n') text_.append(indent.data(), indent.size());
    begin = end;
  }
}

}  // namespace cleave
