#include "tools/own_file/own_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/file/file.h"
#include "base/status/status_macros.h"

namespace cleave::tools {
namespace {

constexpr int64_t kMostBytes = int64_t{256} << 20;

}  // namespace

absl::Status CheckOwnPlace(const std::string& path, const OwnKind& kind) {
  const absl::StatusOr<std::string> old = ReadFile(path, {.what = kind.what, .most_bytes = kMostBytes});
  if (absl::IsNotFound(old.status())) return absl::OkStatus();
  if (absl::IsUnavailable(old.status())) return old.status();
  if (old.ok() && absl::StartsWith(*old, kind.first)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(QuotedPath(path), " is something else than ", kind.what));
}

absl::Status WriteOwn(const std::string& path, const OwnKind& kind, absl::string_view text) {
  CLEAVE_CHECK(absl::StartsWith(text, kind.first)) << path;
  CLEAVE_RETURN_IF_ERROR(CheckOwnPlace(path, kind));
  const std::string next = absl::StrCat(path, ".", getpid(), ".unfinished");
  std::ofstream file(next, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file && std::rename(next.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const int error = errno;
  std::remove(next.c_str());
  return absl::UnavailableError(absl::StrCat("cannot write ", QuotedPath(path), ": ", std::strerror(error)));
}

}  // namespace cleave::tools
