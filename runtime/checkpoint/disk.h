// Private to runtime/checkpoint: files and folders that are on disk when a function returns.
#ifndef CLEAVE_RUNTIME_CHECKPOINT_DISK_H_
#define CLEAVE_RUNTIME_CHECKPOINT_DISK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "runtime/error/error.h"

namespace cleave::runtime {

// A file that is written from nothing. What is not finished is removed.
class NewFile {
 public:
  // Makes the folder too, if need be. Replaces a file of this name.
  static Result<NewFile> Create(const std::string& path);
  NewFile(NewFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  // Now and then waits until what was written is on disk, so that Finish does not wait for all of it.
  std::optional<Error> Write(int64_t offset, const void* bytes, int64_t count);
  // Waits until all of it is on disk.
  std::optional<Error> Finish();

 private:
  NewFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  int64_t not_on_disk_ = 0;
};

// Makes a symbolic link, in place of one that is there.
std::optional<Error> ReplaceLink(const std::string& path, const std::string& target);
// Where a symbolic link leads to, as it is written in it; empty for anything else.
std::string LinkTarget(const std::string& path);

// Gives a folder another name.
std::optional<Error> RenameFolder(const std::string& from, const std::string& to);

// Removes a folder and the files in it, as far as it can: nothing depends on it.
void RemoveFolder(const std::string& folder);

// "cannot write `checkpoints/step_500`: No space left on device", with what `errno` says.
Error CannotWrite(const std::string& path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHECKPOINT_DISK_H_
