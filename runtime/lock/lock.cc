#include "runtime/lock/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace cleave::runtime {
namespace {

// "host a, process 7, since 2026-01-31 12:00:00"
std::string Self() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const time_t now = time(nullptr);
  tm local = {};
  char since[64] = "";
  strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &local));
  return Format("host %s, process %d, since %s", host, static_cast<int>(getpid()), since);
}

std::string ContentOf(int file) {
  char text[512];
  const ssize_t size = pread(file, text, sizeof text, 0);
  const std::string content(text, size > 0 ? static_cast<size_t>(size) : 0);
  return content.substr(0, content.find('\n'));
}

// Whether it names a process of this host that is no more, or nobody.
bool IsLeftBehind(const std::string& content) {
  char host[256] = "";
  char own_host[256] = "";
  int process = 0;
  gethostname(own_host, sizeof own_host - 1);
  if (std::sscanf(content.c_str(), "host %255[^,], process %d,", host, &process) != 2 || process <= 0) return true;
  return std::strcmp(host, own_host) == 0 && kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

Error FolderError(const std::string& folder) {
  return {ExitCode::kEnvironment, Format("cannot write to the folder `%s`: %s", folder.c_str(), std::strerror(errno))};
}

bool MakeFolders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) return false;
    if (end == std::string::npos) return true;
  }
}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

Result<FolderLock> FolderLock::Take(const std::string& folder) {
  if (!MakeFolders(folder)) return FolderError(folder);
  const std::string path = folder + "/.cleave_lock";
  FolderLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (lock.file_ < 0) return FolderError(folder);
  const bool is_locked = flock(lock.file_, LOCK_EX | LOCK_NB) == 0;
  const bool has_locks = is_locked || errno == EWOULDBLOCK;
  const std::string holder = ContentOf(lock.file_);
  if (!is_locked && (has_locks || !IsLeftBehind(holder))) {
    return Error{ExitCode::kEnvironment,
                 Format("another job uses the folder `%s`: %s%s", folder.c_str(),
                        holder.empty() ? "it has just begun" : holder.c_str(),
                        has_locks ? "" : Format("; if it has ended, remove `%s`", path.c_str()).c_str())};
  }
  const std::string self = Self() + "\n";
  const ssize_t size = static_cast<ssize_t>(self.size());
  if (ftruncate(lock.file_, 0) != 0 || pwrite(lock.file_, self.data(), self.size(), 0) != size) {
    return FolderError(folder);
  }
  return lock;
}

}  // namespace cleave::runtime
