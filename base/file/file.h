// Reads the files that a user names.
//
//   absl::StatusOr<std::string> text =
//       ReadFile("plan.json", {.what = "plan file", .most_bytes = 1 << 20, .pipes = Pipes::kRead});
//
// Messages are lower case with the path in backticks, as in diagnostics. Thread-safe.
#ifndef CLEAVE_BASE_FILE_FILE_H_
#define CLEAVE_BASE_FILE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cleave {

// Whether a pipe is read to its end. A shell gives one for `<(command)`.
enum class Pipes { kRefused, kRead };

struct ReadOptions {
  absl::string_view what;  // What the file should be: "plan file".
  int64_t most_bytes = 0;
  Pipes pipes = Pipes::kRefused;
};

// All bytes of the file at `path`, to which symbolic links may lead. Errors: NotFound if there is no such file,
// FailedPrecondition if it is of another kind (a folder, a device, a pipe that is refused), ResourceExhausted if it has
// more than `most_bytes`, and Unavailable if it cannot be read.
absl::StatusOr<std::string> ReadFile(const std::string& path, const ReadOptions& options);

// The path as messages show it: in backticks, with escapes for bytes that a terminal would act on.
std::string QuotedPath(absl::string_view path);

}  // namespace cleave

#endif  // CLEAVE_BASE_FILE_FILE_H_
