// Opens and reads the files that a user names. Every mistake is an Error with exit code 3.
//
//   Result<std::vector<uint8_t>> table = ReadFile("ranks.json", 1 << 20);
#ifndef CLEAVE_RUNTIME_FILE_FILE_H_
#define CLEAVE_RUNTIME_FILE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

// A regular file, opened for reading. Reading is thread-safe.
class File {
 public:
  // An Error when the path is missing, unreadable, or leads to a directory, a device or a pipe.
  static Result<File> Open(const std::string& path);
  ~File();
  File(File&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_) {}
  File& operator=(File&&) = delete;

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }  // When it was opened.

  // Exactly `count` bytes from `offset` on.
  std::optional<Error> Read(int64_t offset, int64_t count, void* target) const;

  // All bytes: at most `most_bytes`, and no more than fit into the machine's memory.
  Result<std::vector<uint8_t>> ReadAll(int64_t most_bytes = INT64_MAX) const;

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  int64_t bytes_ = 0;
};

// The regular files that a path stands for, sorted: `*`, `?` and `[…]` in it stand for any text, as in a shell. A path
// without these is itself, whether or not there is such a file. An Error where a pattern has no files.
Result<std::vector<std::string>> FilesOf(const std::string& pattern);

// The names in a folder, `.` and `..` among them; none where it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder);

// Open and ReadAll.
Result<std::vector<uint8_t>> ReadFile(const std::string& path, int64_t most_bytes = INT64_MAX);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_FILE_FILE_H_
