// One job at a time in a folder, where two would overwrite each other's files.
//
//   if (std::optional<Error> error = LockFolder("log_output")) return *error;   // "… host a, process 7, since …"
//
// The file .cleave_lock in the folder says who has it. The lock is one of the system (flock), so it ends with the
// process, however that ends, and what a dead process has left in the file does not matter. Where a file system has no
// such locks, the file alone decides: it counts as left behind when it names this host and a process that is no more.
#ifndef CLEAVE_RUNTIME_LOCK_LOCK_H_
#define CLEAVE_RUNTIME_LOCK_LOCK_H_

#include <optional>
#include <string>

#include "runtime/error/error.h"

namespace cleave::runtime {

// Takes the folder for this process until it ends; makes it if need be. An Error (exit code 5) names who has it, or
// says why the folder cannot be written to.
std::optional<Error> LockFolder(const std::string& folder);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_LOCK_LOCK_H_
