#include "runtime/data/csv_rows.h"

namespace cleave::runtime {
namespace {

bool IsBlank(uint8_t byte) { return byte == ' ' || byte == '\t'; }
bool EndsLine(uint8_t byte) { return byte == '\n' || byte == '\r'; }

}  // namespace

CsvRows::CsvRows(const std::vector<uint8_t>& text) : text_(text) {
  const bool has_mark = text.size() >= 3 && text[0] == 0xEF && text[1] == 0xBB && text[2] == 0xBF;
  next_ = has_mark ? 3 : 0;
}

bool CsvRows::Next(std::vector<std::string>& fields) {
  do {
    if (next_ >= text_.size()) return false;
    ReadRow(fields);
  } while (fields.size() == 1 && fields[0].empty() && !is_open_);
  return true;
}

void CsvRows::ReadRow(std::vector<std::string>& fields) {
  fields.clear();
  line_ = lines_ + 1;
  is_open_ = false;
  for (;;) {
    while (next_ < text_.size() && IsBlank(text_[next_])) ++next_;
    const bool is_quoted = next_ < text_.size() && text_[next_] == '"';
    fields.push_back(is_quoted ? QuotedField() : PlainField());
    if (next_ >= text_.size()) return;
    const uint8_t end = text_[next_++];
    if (end == ',') continue;
    if (end == '\r' && next_ < text_.size() && text_[next_] == '\n') ++next_;
    ++lines_;
    return;
  }
}

// Up to the comma or the end of the line. What follows the closing quote belongs to the field.
std::string CsvRows::QuotedField() {
  std::string field;
  for (++next_; next_ < text_.size(); ++next_) {
    if (text_[next_] == '"') {
      if (next_ + 1 >= text_.size() || text_[next_ + 1] != '"') {
        ++next_;
        return field + PlainField();
      }
      ++next_;
    }
    if (text_[next_] == '\n') ++lines_;
    field += static_cast<char>(text_[next_]);
  }
  is_open_ = true;
  return field;
}

std::string CsvRows::PlainField() {
  const size_t first = next_;
  while (next_ < text_.size() && text_[next_] != ',' && !EndsLine(text_[next_])) ++next_;
  size_t end = next_;
  while (end > first && IsBlank(text_[end - 1])) --end;
  return std::string(text_.begin() + static_cast<int64_t>(first), text_.begin() + static_cast<int64_t>(end));
}

}  // namespace cleave::runtime
