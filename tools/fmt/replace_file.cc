#include "tools/fmt/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file/descriptor.h"
#include "base/file/file.h"

namespace cleave::tools {
namespace {

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot write ", QuotedPath(path), ": ", std::generic_category().message(error)));
}

// Writes `text` to `file`, which can then take the place of the file with this status.
bool WriteLike(const struct stat& status, const Descriptor& file, const std::string& text) {
  // Root keeps the owner. Nobody else can, and then a file of somebody else stays as it is.
  const bool keeps_owner = fchown(file.number(), status.st_uid, status.st_gid) == 0 || status.st_uid == geteuid();
  return keeps_owner && WriteAll(file, text) && fchmod(file.number(), status.st_mode & 07777) == 0;
}

bool Holds(const std::string& path, const std::string& text) {
  const absl::StatusOr<std::string> read =
      ReadFile(path, {.what = "model file", .most_bytes = static_cast<int64_t>(text.size())});
  return read.ok() && *read == text;
}

}  // namespace

absl::Status ReplaceFile(const std::string& path, const std::string& before, const std::string& after) {
  std::error_code error;
  const std::string target = std::filesystem::canonical(path, error).string();
  struct stat status;
  if (error || stat(target.c_str(), &status) != 0) return CannotWrite(path, error ? error.value() : errno);
  // A file that is protected stays as it is, even where its folder allows to replace it.
  if (access(target.c_str(), W_OK) != 0) return CannotWrite(path, errno);
  std::string next = target + ".XXXXXX";
  const Descriptor file(mkstemp(next.data()));
  if (file.number() < 0) return CannotWrite(path, errno);
  absl::Status replaced;
  if (!WriteLike(status, file, after)) {
    replaced = CannotWrite(path, errno);
  } else if (!Holds(target, before)) {
    replaced = absl::AbortedError(absl::StrCat(QuotedPath(path), " has changed while it was formatted"));
  } else if (rename(next.c_str(), target.c_str()) != 0) {
    replaced = CannotWrite(path, errno);
  }
  if (!replaced.ok()) unlink(next.c_str());
  return replaced;
}

}  // namespace cleave::tools
