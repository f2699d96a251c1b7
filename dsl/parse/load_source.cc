// LoadSource: handles everything that a path can be instead of a model file.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "dsl/parse/parse.h"
#include "dsl/parse/text_check.h"

namespace cleave::dsl {
namespace {

std::string QuotedPath(absl::string_view path) { return absl::StrCat("`", absl::Utf8SafeCHexEscape(path), "`"); }

// Another path with the suffix of a model in the folder of `path`, if its name is so near that it was probably meant.
std::optional<std::string> NearestModel(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path wanted(path);
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".model") names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const std::optional<std::string> nearest = NearestName(wanted.filename().string(), names);
  if (!nearest) return std::nullopt;
  return (wanted.parent_path() / *nearest).string();
}

Diagnostic CannotOpen(const std::string& path, int error_number) {
  std::string reason = std::generic_category().message(error_number);
  reason[0] = absl::ascii_tolower(static_cast<unsigned char>(reason[0]));
  Diagnostic diagnostic = Error(Code::kE0114, absl::StrCat("cannot read ", QuotedPath(path), ": ", reason));
  if (error_number != ENOENT) return diagnostic;
  if (const std::optional<std::string> nearest = NearestModel(path)) {
    return std::move(diagnostic).Help(absl::StrCat("did you mean ", QuotedPath(*nearest), "?"));
  }
  return diagnostic;
}

// The kind of a file that is not regular.
absl::string_view FileKind(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// The kind of a file that is not text, by its first bytes; empty if they do not show it.
absl::string_view BinaryKind(absl::string_view bytes) {
  struct Magic {
    absl::string_view bytes;
    absl::string_view kind;
  };
  constexpr Magic kMagics[] = {
      {"\x7f"
       "ELF",
       "a compiled program or library"},
      {"\x1f\x8b", "a gzip file"},
      {"PK\x03\x04", "a zip archive"},
      {"\x93NUMPY", "a NumPy array"},
      {"\x89PNG", "a PNG image"},
      {"%PDF", "a PDF document"},
      {"\xff\xfe", "UTF-16 text"},
      {"\xfe\xff", "UTF-16 text"},
      {"!<arch>", "a library archive"},
  };
  for (const Magic& magic : kMagics) {
    if (absl::StartsWith(bytes, magic.bytes)) return magic.kind;
  }
  return "";
}

struct DescriptorCloser {
  int descriptor;
  ~DescriptorCloser() { close(descriptor); }
};

// Reads to the end, but no further than one byte past the limit.
std::optional<int> ReadAll(int descriptor, std::string& text) {
  std::vector<char> buffer(1 << 16);
  while (static_cast<int64_t>(text.size()) <= kMaxSourceBytes) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count == 0) return std::nullopt;
    if (count > 0) {
      text.append(buffer.data(), static_cast<size_t>(count));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return std::nullopt;
}

// Adds the text with each bad byte replaced, so that the excerpt of the diagnostic is clean text, and the diagnostic.
void ReportBadByte(const std::string& path, std::string text, BadByte bad, SourceSet& sources,
                   Diagnostics& diagnostics) {
  // SourceFile drops a byte order mark and the CR of each CRLF: the label lies that much further to the front.
  size_t dropped = absl::StartsWith(text, "\xef\xbb\xbf") ? 3 : 0;
  for (size_t i = 0; i + 1 < bad.offset; ++i) dropped += text[i] == '\r' && text[i + 1] == '\n' ? 1 : 0;
  for (size_t offset = bad.offset; offset < text.size();) {
    const std::optional<BadByte> next = FindBadByte(absl::string_view(text).substr(offset), 0);
    if (!next) break;
    offset += next->offset;
    text[offset] = '?';
  }
  const FileId file = sources.Add(path, std::move(text));
  const auto place = static_cast<int32_t>(bad.offset - dropped);
  diagnostics.Add(std::move(bad.diagnostic).At(Span{.file = file, .begin = place, .end = place + 1}, "this byte"));
}

}  // namespace

std::optional<FileId> LoadSource(absl::string_view path_view, SourceSet& sources, Diagnostics& diagnostics) {
  const std::string path(path_view);
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    diagnostics.Add(CannotOpen(path, errno));
    return std::nullopt;
  }
  const DescriptorCloser closer{descriptor};
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    diagnostics.Add(CannotOpen(path, errno));
    return std::nullopt;
  }
  if (!S_ISREG(status.st_mode)) {
    diagnostics.Add(
        Error(Code::kE0114, absl::StrCat(QuotedPath(path), " is ", FileKind(status.st_mode), ", not a model file")));
    return std::nullopt;
  }
  if (std::optional<Diagnostic> too_large = CheckSize(path, status.st_size)) {
    diagnostics.Add(*std::move(too_large));
    return std::nullopt;
  }
  std::string text;
  if (const std::optional<int> error = ReadAll(descriptor, text)) {
    diagnostics.Add(CannotOpen(path, *error));
    return std::nullopt;
  }
  std::optional<BadByte> bad = FindBadByte(text, 0);
  if (bad) {
    const absl::string_view kind = BinaryKind(text);
    if (!kind.empty()) {
      diagnostics.Add(Error(Code::kE0114, absl::StrCat(QuotedPath(path), " looks like ", kind, ", not a model file")));
    } else {
      ReportBadByte(path, std::move(text), *std::move(bad), sources, diagnostics);
    }
    return std::nullopt;
  }
  return sources.Add(path, std::move(text));
}

}  // namespace cleave::dsl
