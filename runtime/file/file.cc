#include "runtime/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace cleave::runtime {
namespace {

Error CannotRead(const std::string& path, const std::string& why) {
  return {ExitCode::kInput, Format("cannot read `%s`: %s", path.c_str(), why.c_str())};
}

int64_t MachineMemory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page_bytes > 0 ? pages * page_bytes : INT64_MAX;
}

}  // namespace

Result<File> File::Open(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return CannotRead(path, std::strerror(errno));
  File file(path, descriptor);
  struct stat status;
  if (fstat(descriptor, &status) != 0) return CannotRead(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) {
    return CannotRead(path,
                      Format("it is %s, not a file", S_ISDIR(status.st_mode) ? "a directory" : "a device or a pipe"));
  }
  file.bytes_ = status.st_size;
  return file;
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<Error> File::Read(int64_t offset, int64_t count, void* target) const {
  char* next = static_cast<char*>(target);
  while (count > 0) {
    const ssize_t got = pread(descriptor_, next, static_cast<size_t>(count), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path_, std::strerror(errno));
    if (got == 0) {
      return Error{ExitCode::kInput,
                   Format("`%s` became shorter while it was read: %" PRId64 " bytes are missing at offset %" PRId64,
                          path_.c_str(), count, offset)};
    }
    next += got;
    offset += got;
    count -= got;
  }
  return std::nullopt;
}

Result<std::vector<uint8_t>> File::ReadAll(int64_t most_bytes) const {
  const int64_t most = std::min(most_bytes, MachineMemory());
  if (bytes_ > most) {
    return CannotRead(path_, Format("it has %" PRId64 " bytes, and at most %" PRId64 " %s", bytes_, most,
                                    most == most_bytes ? "are read" : "fit into the memory of this machine"));
  }
  std::vector<uint8_t> content(static_cast<size_t>(bytes_));
  if (auto error = Read(0, bytes_, content.data())) return *error;
  return content;
}

Result<std::vector<std::string>> FilesOf(const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) return std::vector<std::string>{pattern};
  glob_t found = {};
  const int failure = glob(pattern.c_str(), GLOB_NOESCAPE, nullptr, &found);
  std::vector<std::string> files;
  for (size_t i = 0; failure == 0 && i < found.gl_pathc; ++i) {
    struct stat status;
    if (stat(found.gl_pathv[i], &status) == 0 && S_ISREG(status.st_mode)) files.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  if (files.empty()) return CannotRead(pattern, "no file has such a name");
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) return names;
  for (const dirent* entry; (entry = readdir(entries)) != nullptr;) names.emplace_back(entry->d_name);
  closedir(entries);
  return names;
}

Result<std::vector<uint8_t>> ReadFile(const std::string& path, int64_t most_bytes) {
  const Result<File> file = File::Open(path);
  if (!file.ok()) return file.error();
  return file.value().ReadAll(most_bytes);
}

}  // namespace cleave::runtime
