#include "runtime/checkpoint/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace cleave::runtime {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// A folder has the names of its files when this returns.
bool SyncFolder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_done = fsync(descriptor) == 0;
  const int problem = errno;
  close(descriptor);
  errno = problem;
  return is_done;
}

// And those above it.
bool MakeFolder(const std::string& folder) {
  const auto is_made = [&] {
    if (mkdir(folder.c_str(), 0777) == 0) return SyncFolder(FolderOf(folder));
    return errno == EEXIST;
  };
  if (is_made()) return true;
  return errno == ENOENT && FolderOf(folder) != folder && MakeFolder(FolderOf(folder)) && is_made();
}

}  // namespace

Error CannotWrite(const std::string& path) {
  return {ExitCode::kEnvironment, Format("cannot write `%s`: %s", path.c_str(), std::strerror(errno))};
}

Result<NewFile> NewFile::Create(const std::string& path) {
  if (!MakeFolder(FolderOf(path))) return CannotWrite(path);
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return CannotWrite(path);
  return NewFile(path, descriptor);
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(path_.c_str());
}

std::optional<Error> NewFile::Write(int64_t offset, const void* bytes, int64_t count) {
  constexpr int64_t kMost = int64_t{1} << 26;
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = pwrite(descriptor_, from, static_cast<size_t>(std::min(count, kMost)), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return CannotWrite(path_);
    from += written;
    offset += written;
    count -= written;
    not_on_disk_ += written;
    if (not_on_disk_ < 4 * kMost) continue;
    if (fdatasync(descriptor_) != 0) return CannotWrite(path_);
    not_on_disk_ = 0;
  }
  return std::nullopt;
}

std::optional<Error> NewFile::Finish() {
  if (fsync(descriptor_) != 0) return CannotWrite(path_);
  if (close(std::exchange(descriptor_, -1)) != 0 || !SyncFolder(FolderOf(path_))) return CannotWrite(path_);
  return std::nullopt;
}

std::optional<Error> ReplaceLink(const std::string& path, const std::string& target) {
  const std::string unfinished = path + ".unfinished";
  unlink(unfinished.c_str());
  if (symlink(target.c_str(), unfinished.c_str()) != 0) return CannotWrite(path);
  if (rename(unfinished.c_str(), path.c_str()) != 0 || !SyncFolder(FolderOf(path))) {
    Error error = CannotWrite(path);
    unlink(unfinished.c_str());
    return error;
  }
  return std::nullopt;
}

std::string LinkTarget(const std::string& path) {
  char target[4096];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  return length < 0 ? "" : std::string(target, static_cast<size_t>(length));
}

std::optional<Error> RenameFolder(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0 || !SyncFolder(FolderOf(to))) return CannotWrite(to);
  return std::nullopt;
}

void RemoveFolder(const std::string& folder) {
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) return;
  for (const dirent* entry; (entry = readdir(entries)) != nullptr;) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") unlink((folder + "/" + name).c_str());
  }
  closedir(entries);
  rmdir(folder.c_str());
}

}  // namespace cleave::runtime
