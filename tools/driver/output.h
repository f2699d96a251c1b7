// The output folder: written completely or not at all, and never over files of somebody else.
#ifndef CLEAVE_TOOLS_DRIVER_OUTPUT_H_
#define CLEAVE_TOOLS_DRIVER_OUTPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace cleave::tools {

struct OutputFile {
  std::string path;  // Relative to the folder.
  std::string text;
  bool executable = false;
};

// Fails with FailedPrecondition when `folder` exists, is not empty and was not written by WriteOutput.
absl::Status CheckOutputFolder(const std::string& folder);

// Writes all files: first into a hidden folder beside `folder`, so that a full disk or a missing permission shows
// before anything changes, then by renaming each file into its place. A file whose text has not changed keeps its time,
// so that `make` builds only what is new. Files of an earlier compile that are not in `files` are removed; everything
// else in the folder (logs, binaries) stays.
absl::Status WriteOutput(const std::string& folder, const std::vector<OutputFile>& files);

// The bytes of a file; nullopt if it cannot be read.
std::optional<std::string> ReadFile(const std::string& path);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_OUTPUT_H_
