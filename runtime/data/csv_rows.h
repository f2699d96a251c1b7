// Private to runtime/data: the rows of a text with fields between commas (RFC 4180).
#ifndef CLEAVE_RUNTIME_DATA_CSV_ROWS_H_
#define CLEAVE_RUNTIME_DATA_CSV_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::runtime {

class CsvRows {
 public:
  // Keeps a reference. A byte order mark is left out.
  explicit CsvRows(const std::vector<uint8_t>& text);

  // The fields of the next row, without blanks around those that are not in quotes; false at the end. Lines without
  // anything in them are no rows.
  bool Next(std::vector<std::string>& fields);

  // Of the row that Next has given: the line on which it begins, counted from 1, and whether a quote has no end.
  int64_t line() const { return line_; }
  bool is_open() const { return is_open_; }

  // How many bytes of the text have been read.
  int64_t bytes() const { return static_cast<int64_t>(next_); }

 private:
  void ReadRow(std::vector<std::string>& fields);
  std::string QuotedField();
  std::string PlainField();

  const std::vector<uint8_t>& text_;
  size_t next_ = 0;
  int64_t lines_ = 0;  // Ends of lines before next_.
  int64_t line_ = 0;
  bool is_open_ = false;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_CSV_ROWS_H_
