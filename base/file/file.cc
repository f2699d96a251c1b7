#include "base/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file/descriptor.h"
#include "base/text/text.h"

namespace cleave {
namespace {

absl::Status CannotRead(const std::string& path, int error) {
  std::string reason = std::generic_category().message(error);
  reason[0] = absl::ascii_tolower(static_cast<unsigned char>(reason[0]));
  const std::string message = absl::StrCat("cannot read ", QuotedPath(path), ": ", reason);
  return error == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
}

// What a file is that cannot be read as `options` ask; empty if it can.
absl::string_view WrongKind(mode_t mode, Pipes pipes) {
  if (S_ISREG(mode) || (S_ISFIFO(mode) && pipes == Pipes::kRead)) return "";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

absl::Status TooLarge(const std::string& path, const std::string& bytes, const ReadOptions& options) {
  return absl::ResourceExhaustedError(absl::StrCat(QuotedPath(path), " has ", bytes, " bytes; a ", options.what,
                                                   " has at most ", FormatCount(options.most_bytes)));
}

}  // namespace

std::string QuotedPath(absl::string_view path) { return absl::StrCat("`", absl::Utf8SafeCHexEscape(path), "`"); }

absl::StatusOr<std::string> ReadFile(const std::string& path, const ReadOptions& options) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat status;
  if (file.number() < 0 || fstat(file.number(), &status) != 0) return CannotRead(path, errno);
  if (const absl::string_view kind = WrongKind(status.st_mode, options.pipes); !kind.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(QuotedPath(path), " is ", kind, ", not a ", options.what));
  }
  if (S_ISREG(status.st_mode) && status.st_size > options.most_bytes) {
    return TooLarge(path, FormatCount(status.st_size), options);
  }
  std::string text;
  constexpr int64_t kChunk = 1 << 16;
  while (static_cast<int64_t>(text.size()) <= options.most_bytes) {
    const size_t before = text.size();
    text.resize(before + static_cast<size_t>(std::min<int64_t>(kChunk, options.most_bytes + 1 - before)));
    const ssize_t count = read(file.number(), text.data() + before, text.size() - before);
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(0, count)));
    if (count == 0) return text;
    if (count > 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return CannotRead(path, errno);
    // The writer of a pipe has not written yet.
    pollfd wait = {.fd = file.number(), .events = POLLIN, .revents = 0};
    poll(&wait, 1, -1);
  }
  return TooLarge(path, absl::StrCat("more than ", FormatCount(options.most_bytes)), options);
}

}  // namespace cleave
