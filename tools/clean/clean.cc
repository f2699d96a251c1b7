#include "tools/clean/clean.h"

#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "base/text/text.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

// A relative XDG_CACHE_HOME does not count (XDG Base Directory Specification).
std::optional<fs::path> CacheHome() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fs::path(cache);
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache";
  return std::nullopt;
}

int64_t BytesOfFile(const fs::path& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : 0;
}

// Of all files at `path` and below it, without those that links lead to.
int64_t BytesAt(const fs::path& path) {
  int64_t bytes = BytesOfFile(path);
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(path, error))) return bytes;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    bytes += BytesOfFile(entry->path());
  }
  return bytes;
}

ExitCode Fail(std::ostream& err, const std::string& message) {
  err << "error: " << message << "\n";
  return ExitCode::kEnvironment;
}

std::string BytesText(int64_t bytes) { return absl::StrCat(FormatCount(bytes), bytes == 1 ? " byte" : " bytes"); }

// Removes what is in `folder`, and then the folder.
ExitCode RemoveCache(const fs::path& folder, std::ostream& out, std::ostream& err) {
  std::error_code error;
  std::set<fs::path> entries;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    entries.insert(entry->path());
  }
  if (error) return Fail(err, absl::StrCat("cannot look into ", QuotedPath(folder.string()), ": ", error.message()));
  ExitCode code = ExitCode::kDone;
  int64_t removed_bytes = 0;
  for (const fs::path& entry : entries) {
    const int64_t bytes = BytesAt(entry);
    fs::remove_all(entry, error);
    const int64_t left = BytesAt(entry);
    removed_bytes += bytes - left;
    if (error) {
      code = Fail(err, absl::StrCat("cannot remove ", QuotedPath(entry.string()), ": ", error.message()));
    } else {
      out << "removed " << entry.filename().string() << ", " << BytesText(bytes) << "\n";
    }
  }
  fs::remove(folder, error);  // Stays where a build has begun to fill it again.
  out << "removed " << BytesText(removed_bytes) << " from " << folder.string() << "\n";
  return code;
}

}  // namespace

void DescribeClean(CLI::App&) {}

ExitCode RunClean(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                  std::ostream& out, std::ostream& err) {
  CLI::App app(summary, name);
  if (const auto exit = Parse(app, words)) {
    (exit->code == ExitCode::kDone ? out : err) << exit->text;
    return exit->code;
  }
  const std::optional<fs::path> home = CacheHome();
  if (!home.has_value()) return Fail(err, "neither XDG_CACHE_HOME nor HOME says where the cache is");
  const fs::path folder = *home / "cleave" / "runtime";
  for (const fs::path& path : {folder.parent_path(), folder}) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (!fs::exists(status)) {
      if (status.type() == fs::file_type::not_found) {
        out << "there is no cache at " << folder.string() << "\n";
        return ExitCode::kDone;
      }
      return Fail(err, absl::StrCat("cannot look at ", QuotedPath(path.string()), ": ", error.message()));
    }
    if (fs::is_directory(status)) continue;
    return Fail(err, absl::StrCat(QuotedPath(path.string()), " is ",
                                  fs::is_symlink(status) ? "a symbolic link, which is not followed" : "not a folder"));
  }
  return RemoveCache(folder, out, err);
}

}  // namespace cleave::tools
