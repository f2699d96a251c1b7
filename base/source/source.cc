#include "base/source/source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "base/check/check.h"

namespace cleave {

Span Cover(Span a, Span b) {
  CLEAVE_CHECK(a.file == b.file) << "spans of two files";
  return Span{.file = a.file, .begin = std::min(a.begin, b.begin), .end = std::max(a.end, b.end)};
}

SourceFile::SourceFile(std::string path, std::string text, TextOrigin origin)
    : path_(std::move(path)), text_(std::move(text)), origin_(origin) {
  constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (absl::StartsWith(text_, kByteOrderMark)) text_.erase(0, kByteOrderMark.size());
  absl::StrReplaceAll({{"\r\n", "\n"}}, &text_);
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(static_cast<int32_t>(i) + 1);
  }
}

LineColumn SourceFile::Locate(int32_t offset) const {
  offset = std::clamp(offset, 0, static_cast<int32_t>(text_.size()));
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const int line = static_cast<int>(after - line_starts_.begin());
  int column = 1;
  for (int32_t i = *(after - 1); i < offset; ++i) {
    // Bytes 10xxxxxx continue a code point.
    if ((static_cast<unsigned char>(text_[static_cast<size_t>(i)]) & 0xC0) != 0x80) ++column;
  }
  return {.line = line, .column = column};
}

absl::string_view SourceFile::Line(int line) const {
  if (line < 1 || line > line_count()) return "";
  const size_t begin = static_cast<size_t>(line_starts_[static_cast<size_t>(line) - 1]);
  const size_t end =
      line < line_count() ? static_cast<size_t>(line_starts_[static_cast<size_t>(line)]) - 1 : text_.size();
  return absl::string_view(text_).substr(begin, end - begin);
}

Span SourceFile::SpanOfLine(FileId id, int line) const {
  const absl::string_view text = Line(std::clamp(line, 1, line_count()));
  const absl::string_view code = absl::StripAsciiWhitespace(text);
  const auto begin = static_cast<int32_t>((code.empty() ? text : code).data() - text_.data());
  return {.file = id, .begin = begin, .end = begin + static_cast<int32_t>(code.size())};
}

FileId SourceSet::Add(std::string path, std::string text, TextOrigin origin) {
  files_.push_back(std::make_unique<SourceFile>(std::move(path), std::move(text), origin));
  return FileId(static_cast<int64_t>(files_.size()) - 1);
}

const SourceFile& SourceSet::file(FileId id) const {
  CLEAVE_CHECK(id.value() >= 0 && static_cast<size_t>(id.value()) < files_.size()) << "no file " << id.value();
  return *files_[static_cast<size_t>(id.value())];
}

}  // namespace cleave
