#include "tools/clean/clean.h"

#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "base/text/text.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

struct Content {
  int64_t files = 0;  // Everything but folders.
  int64_t bytes = 0;  // Of regular files.
};

// What is below `folder`, without what links lead to.
Content ContentOf(const fs::path& folder) {
  Content content;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat status;
    if (lstat(entry->path().c_str(), &status) != 0 || S_ISDIR(status.st_mode)) continue;
    ++content.files;
    if (S_ISREG(status.st_mode)) content.bytes += status.st_size;
  }
  return content;
}

ExitCode Fail(std::ostream& err, const std::string& message) {
  err << "error: " << message << "\n";
  return ExitCode::kEnvironment;
}

ExitCode RemoveCache(const fs::path& folder, std::ostream& out, std::ostream& err) {
  const Content before = ContentOf(folder);
  std::error_code error;
  fs::remove_all(folder, error);
  const Content left = ContentOf(folder);
  out << "removed " << Plural(before.files - left.files, "file") << ", " << FormatCount(before.bytes - left.bytes)
      << " bytes, from " << folder.string() << "\n";
  if (!error) return ExitCode::kDone;
  return Fail(err, absl::StrCat("cannot remove all of ", QuotedPath(folder.string()), ": ", error.message()));
}

}  // namespace

std::optional<fs::path> CacheHome() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fs::path(cache);
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache";
  return std::nullopt;
}

void DescribeClean(CLI::App&) {}

ExitCode RunClean(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                  std::ostream& out, std::ostream& err) {
  CLI::App app(summary, name);
  if (const auto exit = Parse(app, words)) return Print(*exit, out, err);
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
