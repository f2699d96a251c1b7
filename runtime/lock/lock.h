// One job at a time in a folder, where two would overwrite each other's files.
//
//   Result<FolderLock> lock = FolderLock::Take("log_output");
//   if (!lock.ok()) return lock.error();   // "another job uses the folder `log_output`: host a, process 7, since …"
//
// The file .cleave_lock in the folder says who has it. The lock is one of the system (flock), so it ends with the
// process, however that ends, and what a dead process has left in the file does not matter. Where a file system has no
// such locks, the file alone decides: it counts as left behind when it names this host and a process that is no more.
#ifndef CLEAVE_RUNTIME_LOCK_LOCK_H_
#define CLEAVE_RUNTIME_LOCK_LOCK_H_

#include <string>
#include <utility>

#include "runtime/error/error.h"

namespace cleave::runtime {

// "cannot write to the folder `log_output`: Read-only file system", with what `errno` says (exit code 5).
Error FolderError(const std::string& folder);

// mkdir -p. Whether all folders of the path are there; `errno` says why not.
bool MakeFolders(const std::string& path);

class FolderLock {
 public:
  // Makes the folder if need be. An Error (exit code 5) names who has it, or says why it cannot be written to.
  static Result<FolderLock> Take(const std::string& folder);

  FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FolderLock(const FolderLock&) = delete;
  ~FolderLock();  // Gives the folder back.

 private:
  explicit FolderLock(int file) : file_(file) {}
  int file_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_LOCK_LOCK_H_
