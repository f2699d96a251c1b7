// Tables of numbers in text files. The columns that the model reads are kept in memory.
#include "runtime/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "runtime/data/csv_rows.h"
#include "runtime/data/source.h"
#include "runtime/file/file.h"

namespace cleave::runtime {
namespace {

constexpr char kAllOthers[] = "*";

// The samples of a part, as they are read: of each input all values of all rows.
struct Table {
  std::vector<std::vector<float>> floats;
  std::vector<std::vector<int32_t>> integers;
  int64_t rows = 0;
};

// The number that all of `text` is; nullopt where it is none that float, or int32, can hold.
std::optional<float> FloatOf(const std::string& text) {
  const char* const begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0);
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto [rest, failure] = std::from_chars(begin, end, number);
  const auto value = static_cast<float>(number);
  if (failure != std::errc() || rest != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<int32_t> IntegerOf(const std::string& text) {
  int32_t number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

// What a text of the file, which may be anything, looks like in a message.
std::string ShownText(const std::string& text) {
  constexpr size_t kMost = 40;
  std::string shown;
  for (const char c : text.substr(0, kMost)) shown += c >= ' ' && c <= '~' ? c : '?';
  return "`" + shown + (text.size() > kMost ? "…`" : "`");
}

// Reads the files of one part of the data into a table.
class TableReader {
 public:
  TableReader(const OpenRequest& request, const std::vector<std::vector<std::string>>& columns)
      : request_(request), columns_(columns) {}

  // An Error of this file. Lines that were left out so far count for all files.
  std::optional<Error> Read(const std::string& path, Table& table, Progress& progress) {
    Result<std::vector<uint8_t>> text = ReadFile(path);
    if (!text.ok()) return text.error();
    path_ = path;
    CsvRows rows(text.value());
    std::vector<std::string> names;
    if (!rows.Next(names)) return Wrong("has no line that names its columns");
    if (auto error = FindColumns(names)) return error;
    std::vector<std::string> fields;
    for (int64_t before = 0; rows.Next(fields); before = rows.bytes()) {
      progress.Add(rows.bytes() - before);
      const std::string mistake = rows.is_open() ? "a quote has no end" : Take(fields, names, table);
      if (mistake.empty()) continue;
      const std::string where = Format("line %" PRId64, rows.line());
      if (skipped_ == request_.spec.skip_bad) return TooMany(where, mistake);
      ++skipped_;
      if (skipped_ <= kShownLines) skipped_lines_ += (skipped_lines_.empty() ? "" : ", ") + where;
    }
    return std::nullopt;
  }

  // "2 lines without such numbers are left out: line 7, line 12"; empty where there are none.
  std::string Note() const {
    if (skipped_ == 0) return "";
    return Format("%" PRId64 " line%s without such numbers left out: %s%s", skipped_, skipped_ == 1 ? "" : "s",
                  skipped_lines_.c_str(), skipped_ > kShownLines ? ", …" : "");
  }

 private:
  static constexpr int64_t kShownLines = 5;

  Error Wrong(const std::string& why) const {
    return {ExitCode::kInput, Format("`%s` %s", path_.c_str(), why.c_str())};
  }

  Error TooMany(const std::string& where, const std::string& mistake) const {
    return {ExitCode::kInput,
            Format("%s of `%s`: %s%s", where.c_str(), path_.c_str(), mistake.c_str(), LeftOutBefore(skipped_).c_str())};
  }

  // Where the columns of each input stand in this file.
  std::optional<Error> FindColumns(const std::vector<std::string>& names) {
    places_.assign(columns_.size(), {});
    std::set<size_t> named;
    for (size_t i = 0; i < columns_.size(); ++i) {
      for (const std::string& column : columns_[i]) {
        if (column == kAllOthers) continue;
        const auto found = std::find(names.begin(), names.end(), column);
        if (found == names.end()) return Wrong(Format("has no column %s", ShownText(column).c_str()));
        if (std::find(found + 1, names.end(), column) != names.end()) {
          return Wrong(Format("has two columns %s", ShownText(column).c_str()));
        }
        places_[i].push_back(static_cast<size_t>(found - names.begin()));
        named.insert(places_[i].back());
      }
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
      for (size_t column = 0; columns_[i].front() == kAllOthers && column < names.size(); ++column) {
        if (named.count(column) == 0) places_[i].push_back(column);
      }
      const ModelInput& input = request_.inputs[i];
      const int64_t elements = ElementsPerSample(input.region);
      if (static_cast<int64_t>(places_[i].size()) != elements) {
        return Wrong(Format("has %zu columns for input %s, which has %" PRId64 " values per sample", places_[i].size(),
                            Describe(input).c_str(), elements));
      }
    }
    return std::nullopt;
  }

  // Appends a row to the table; where it is none, the table stays as it is and the reason is returned.
  std::string Take(const std::vector<std::string>& fields, const std::vector<std::string>& names, Table& table) {
    if (fields.size() != names.size()) return Format("%zu fields, and %zu columns", fields.size(), names.size());
    std::string mistake;
    for (size_t i = 0; i < places_.size() && mistake.empty(); ++i) {
      for (const size_t place : places_[i]) {
        mistake = TakeField(fields[place], i, table);
        if (mistake.empty()) continue;
        mistake = ShownText(fields[place]) + " in column " + ShownText(names[place]) + " " + mistake;
        break;
      }
    }
    table.rows += mistake.empty() ? 1 : 0;
    for (size_t i = 0; i < places_.size(); ++i) {
      const size_t size = static_cast<size_t>(table.rows) * places_[i].size();
      if (request_.inputs[i].is_float) {
        table.floats[i].resize(size);
      } else {
        table.integers[i].resize(size);
      }
    }
    return mistake;
  }

  std::string TakeField(const std::string& field, size_t input, Table& table) const {
    if (request_.inputs[input].is_float) {
      const std::optional<float> number = FloatOf(field);
      if (!number.has_value()) return "is no number of f32";
      table.floats[input].push_back(*number);
      return "";
    }
    const std::optional<int32_t> number = IntegerOf(field);
    if (!number.has_value()) return "is no integer of i32";
    if (!request_.inputs[input].Takes(*number)) {
      return Format("is out of range: the model has %" PRId64 " classes", request_.inputs[input].limit);
    }
    table.integers[input].push_back(*number);
    return "";
  }

  const OpenRequest& request_;
  const std::vector<std::vector<std::string>>& columns_;  // By input.
  std::string path_;
  std::vector<std::vector<size_t>> places_;  // By input.
  int64_t skipped_ = 0;
  std::string skipped_lines_;
};

class CsvSource final : public Source {
 public:
  CsvSource(Table train, Table test, std::string note)
      : train_(std::move(train)), test_(std::move(test)), note_(std::move(note)) {}

  int64_t Samples(DataSplit split) const override { return Of(split).rows; }
  std::string Note() const override { return note_; }

  int64_t Bytes() const override {
    int64_t bytes = 0;
    for (const Table* table : {&train_, &test_}) {
      for (const auto& values : table->floats) bytes += static_cast<int64_t>(values.size() * sizeof(float));
      for (const auto& values : table->integers) bytes += static_cast<int64_t>(values.size() * sizeof(int32_t));
    }
    return bytes;
  }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    const int64_t first = sample.number * ElementsPerSample(input.region);
    const auto number = static_cast<size_t>(field);
    if (input.is_float) {
      const float* values = Of(sample.split).floats[number].data() + first;
      WriteRow(input, row, [&](int64_t element) { return values[element]; });
    } else {
      const int32_t* values = Of(sample.split).integers[number].data() + first;
      WriteRow(input, row, [&](int64_t element) { return values[element]; });
    }
    return std::nullopt;
  }

 private:
  const Table& Of(DataSplit split) const { return split == DataSplit::kTrain ? train_ : test_; }

  const Table train_;
  const Table test_;
  const std::string note_;
};

Result<OpenedSource> OpenCsv(const OpenRequest& request) {
  Result<MatchedColumns> matched = MatchColumns("csv", request.spec, request.inputs);
  if (!matched.ok()) return matched.error();
  const std::vector<std::vector<std::string>>& columns = matched.value().names;
  Table train, test;
  for (Table* table : {&train, &test}) {
    table->floats.resize(columns.size());
    table->integers.resize(columns.size());
  }
  TableReader reader(request, columns);
  const auto read = [&](const std::string& part, const std::string& path, Progress& progress) {
    return reader.Read(path, part == "test" ? test : train, progress);
  };
  if (auto error = ReadFiles(request.spec, read)) return *error;
  const std::string note = reader.Note();
  return OpenedSource{
      std::make_unique<CsvSource>(std::move(train), std::move(test), note.empty() ? "" : "csv: " + note),
      std::move(matched.value().fields)};
}

}  // namespace

DataSpec Csv(std::vector<InputFile> files, std::vector<InputColumns> columns, int64_t skip_bad) {
  DataSpec spec{"csv", OpenCsv, files.front().path, 0, 0, std::move(files)};
  spec.columns = std::move(columns);
  spec.skip_bad = skip_bad;
  return spec;
}

}  // namespace cleave::runtime
