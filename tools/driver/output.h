// The output folder: the whole of one compile or the whole of the next, and never files of somebody else; or a plan
// alone.
#ifndef CLEAVE_TOOLS_DRIVER_OUTPUT_H_
#define CLEAVE_TOOLS_DRIVER_OUTPUT_H_

#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace cleave::tools {

struct OutputFile {
  std::string path;  // Relative to the folder.
  std::string text;
  bool executable = false;
};

// Fails with FailedPrecondition when `folder` exists and was not written by WriteOutput (unless it is empty, or holds
// nothing but what WritePlan wrote), or others could change what is written: it belongs to another user than `user`, or
// every user can write to it. It may be a symbolic link to a folder of the user.
absl::Status CheckOutputFolder(const std::string& folder, uid_t user = geteuid());

// Replaces the files of the last compile. A file whose text has not changed keeps its time, so that `make` builds only
// what is new; files of the last compile that are not in `files` are removed; everything else in the folder (objects,
// logs, binaries) stays. Symbolic links in the folder are replaced, not followed.
//
// New files are first written into a folder of their own, `.cleave_staging`, so that a full disk or a missing
// permission shows before anything changes. Renaming that folder to `.cleave_next` is the moment from which the new
// compile counts: while there is one, `make` and run.sh refuse the folder, and the next call finishes what this one has
// begun. So it may be stopped anywhere. Two calls at once on one folder: the second fails.
//
// `before_change` is called before each change of the file system.
absl::Status WriteOutput(
    const std::string& folder, const std::vector<OutputFile>& files,
    const std::function<void()>& before_change = [] {});

// Fails with FailedPrecondition when `folder` is no folder, others could change what is written, it holds a program
// that WriteOutput has written or begun, or a plan.json that is no plan. Other files may be there.
absl::Status CheckPlanFolder(const std::string& folder, uid_t user = geteuid());

// Writes plan.json into `folder` and nothing else, where CheckPlanFolder allows it: under another name, which is then
// renamed, so that it is there as a whole or as it was.
absl::Status WritePlan(
    const std::string& folder, const std::string& text, const std::function<void()>& before_change = [] {});

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_OUTPUT_H_
