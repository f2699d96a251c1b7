// Private to tools/data: text files line by line, plain or compressed by gzip or Zstandard.
#ifndef CLEAVE_TOOLS_DATA_TEXT_FILE_H_
#define CLEAVE_TOOLS_DATA_TEXT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"

namespace cleave::tools {

// Unpacks a stream of bytes; the file is not in memory as a whole.
class Unpacker;

class TextFile {
 public:
  // E0634 where there is no such file, or it is of a kind that has no lines, which are named.
  static std::optional<Diagnostic> Open(const std::string& path, std::unique_ptr<TextFile>& file);
  ~TextFile();

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }        // Of the file, as it is on disk.
  int64_t consumed() const { return consumed_; }  // Of these, how many were read.
  int64_t line() const { return line_; }          // The number of the last one; the first is 1.

  // The next line without its end. False at the end of the file.
  std::optional<Diagnostic> ReadLine(std::string& line, bool& is_there);

  // The next bytes, at most `most`; none at the end.
  std::optional<Diagnostic> Read(size_t most, std::string& bytes);

 private:
  TextFile();
  std::optional<Diagnostic> Fill();
  Diagnostic Wrong(const std::string& what) const;

  std::string path_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;
  int64_t consumed_ = 0;
  int64_t line_ = 0;
  bool is_at_end_ = false;
  std::unique_ptr<Unpacker> unpacker_;
  std::string content_;  // Unpacked, and not yet given out from `begin_` on.
  size_t begin_ = 0;
};

// "`chat.jsonl:7`"
std::string PlaceOf(const std::string& path, int64_t line);

// What ParseJson says of a line, without a number of that line, which is 1 wherever it stands in its file.
std::string JsonMistake(const std::string& message);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_TEXT_FILE_H_
