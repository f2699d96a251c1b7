// Source text and places in it.
//
// A SourceFile owns the text that a compile reads; a Span names a range of it by byte offset. Files live in a SourceSet
// for the whole compile, so a Span is a small value that can be copied into every later stage. Not every text is a file
// of the user, and not everything has a place: TextOrigin and Span say so.
#ifndef CLEAVE_BASE_SOURCE_SOURCE_H_
#define CLEAVE_BASE_SOURCE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/strong_id/strong_id.h"

namespace cleave {

using FileId = StrongId<struct FileIdTag>;

// Bytes [begin, end) of one file. An empty range is a place between two characters. Without a file it is no place at
// all: that of something that nobody wrote.
struct Span {
  std::optional<FileId> file;
  int32_t begin = 0;
  int32_t end = 0;

  bool is_somewhere() const { return file.has_value(); }
  bool operator==(const Span&) const = default;
};

// The smallest span that covers both. REQUIRES: same file.
Span Cover(Span a, Span b);

// Line and column, both counted from 1; columns count Unicode code points.
struct LineColumn {
  int line = 1;
  int column = 1;

  bool operator==(const LineColumn&) const = default;
};

// Where a text comes from.
enum class TextOrigin {
  kFile,         // A file of the user, whose lines are shown.
  kCommandLine,  // An argument, shown as it was typed.
  kBuiltIn,      // The prelude, which is not shown.
};

class SourceFile {
 public:
  // `path` is shown to the user as it is; that of a text from the command line is the argument. `text` is UTF-8 (a byte
  // order mark is removed, CRLF becomes LF).
  SourceFile(std::string path, std::string text, TextOrigin origin = TextOrigin::kFile);

  const std::string& path() const { return path_; }
  TextOrigin origin() const { return origin_; }
  absl::string_view text() const { return text_; }

  // The place of byte `offset`, which may be the end of the text.
  LineColumn Locate(int32_t offset) const;

  // Line `line` (from 1) without its newline; empty past the end.
  absl::string_view Line(int line) const;
  int line_count() const { return static_cast<int>(line_starts_.size()); }

  // Where that line is, without the white space around it; the last line for a number past the end. `id` is the file's.
  Span SpanOfLine(FileId id, int line) const;

 private:
  std::string path_;
  std::string text_;
  TextOrigin origin_;
  std::vector<int32_t> line_starts_;
};

// The files of one compile. Addresses of files are stable.
class SourceSet {
 public:
  FileId Add(std::string path, std::string text, TextOrigin origin = TextOrigin::kFile);

  // REQUIRES: Add of this set returned `id`.
  const SourceFile& file(FileId id) const;

  // Whether `span` is a place in a text of this origin.
  bool IsIn(TextOrigin origin, Span span) const { return span.is_somewhere() && file(*span.file).origin() == origin; }

 private:
  std::vector<std::unique_ptr<SourceFile>> files_;
};

}  // namespace cleave

#endif  // CLEAVE_BASE_SOURCE_SOURCE_H_
