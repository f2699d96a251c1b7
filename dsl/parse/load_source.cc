// LoadSource: handles everything that a path can be instead of a model file.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "dsl/parse/parse.h"
#include "dsl/parse/text_check.h"

namespace cleave::dsl {
namespace {

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

Diagnostic CannotRead(const std::string& path, const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return TooLarge(std::string(status.message()));
  Diagnostic diagnostic = Error(Code::kE0114, std::string(status.message()));
  if (!absl::IsNotFound(status)) return diagnostic;
  if (const std::optional<std::string> nearest = NearestModel(path)) {
    return std::move(diagnostic).Help(absl::StrCat("did you mean ", QuotedPath(*nearest), "?"));
  }
  return diagnostic;
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

// Adds the text with what is bad replaced, so that the excerpt of the diagnostic is clean text, and the diagnostic.
void ReportBadText(const std::string& path, std::string text, BadText bad, SourceSet& sources,
                   Diagnostics& diagnostics) {
  // SourceFile drops a byte order mark and the CR of each CRLF: the label lies that much further to the front.
  size_t dropped = absl::StartsWith(text, "\xef\xbb\xbf") ? 3 : 0;
  for (size_t i = 0; i + 1 < bad.offset; ++i) dropped += text[i] == '\r' && text[i + 1] == '\n' ? 1 : 0;
  const FileId file = sources.Add(path, WithoutBadText(std::move(text)));
  const auto place = static_cast<int32_t>(bad.offset - dropped);
  const auto end = place + static_cast<int32_t>(bad.size);
  diagnostics.Add(std::move(bad.diagnostic).At(Span{.file = file, .begin = place, .end = end}, bad.label));
}

}  // namespace

std::optional<FileId> LoadSource(absl::string_view path_view, SourceSet& sources, Diagnostics& diagnostics) {
  const std::string path(path_view);
  std::optional<std::string> text = ReadSource(path, diagnostics);
  if (!text.has_value()) return std::nullopt;
  return AddSource(path, *std::move(text), sources, diagnostics);
}

std::optional<std::string> ReadSource(const std::string& path, Diagnostics& diagnostics) {
  absl::StatusOr<std::string> read = ReadFile(path, {.what = "model file", .most_bytes = kMaxSourceBytes});
  if (read.ok()) return *std::move(read);
  diagnostics.Add(CannotRead(path, read.status()));
  return std::nullopt;
}

std::optional<FileId> AddSource(const std::string& path, std::string text, SourceSet& sources,
                                Diagnostics& diagnostics) {
  if (text.size() > static_cast<size_t>(kMaxSourceBytes)) {
    diagnostics.Add(
        TooLarge(absl::StrCat(QuotedPath(path), " has more than ", FormatCount(kMaxSourceBytes), " bytes")));
    return std::nullopt;
  }
  std::optional<BadText> bad = FindBadText(text);
  if (bad) {
    const absl::string_view kind = BinaryKind(text);
    if (!kind.empty()) {
      diagnostics.Add(Error(Code::kE0114, absl::StrCat(QuotedPath(path), " looks like ", kind, ", not a model file")));
    } else {
      ReportBadText(path, std::move(text), *std::move(bad), sources, diagnostics);
    }
    return std::nullopt;
  }
  return sources.Add(path, std::move(text));
}

}  // namespace cleave::dsl
