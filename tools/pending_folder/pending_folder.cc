#include "tools/pending_folder/pending_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file/file.h"
#include "tools/weights/output.h"

namespace cleave::tools {
namespace {

namespace folder_fs = std::filesystem;
using FolderError = std::optional<runtime::Error>;

constexpr char kUnfinished[] = ".unfinished";

runtime::Error Refused(const std::string& path, absl::string_view what) {
  return {runtime::ExitCode::kUsage, absl::StrCat(QuotedPath(path), " ", what)};
}

runtime::Error Failed(absl::string_view what, const std::string& path, const std::error_code& error) {
  return {runtime::ExitCode::kEnvironment, absl::StrCat("cannot ", what, " ", QuotedPath(path), ": ", error.message())};
}

// Whether nothing is in the folder but what `is_ours`; `within`: what its names begin with. `shown`: the path of the
// outermost folder, for messages.
FolderError CheckContents(const std::string& folder, const std::string& within, const std::string& shown,
                          const std::function<bool(const std::string&)>& is_ours, bool& is_empty) {
  std::error_code error;
  for (folder_fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    is_empty = false;
    std::error_code ignored;
    const bool is_folder = folder_fs::is_directory(entry->symlink_status(ignored));
    const std::string name = absl::StrCat(within, entry->path().filename().string(), is_folder ? "/" : "");
    if (!is_ours(name)) {
      return Refused(shown, absl::StrCat("has ", QuotedPath(name), ", which is nothing that is written here"));
    }
    if (!is_folder) continue;
    if (auto refused = CheckContents(entry->path().string(), name, shown, is_ours, is_empty)) return refused;
  }
  if (error) return Failed("read", shown, error);
  return std::nullopt;
}

// Whether a folder, or nothing, is at the path, and all of it may go. `shown`: the path, for messages.
FolderError CheckMayGo(const std::string& path, const std::string& shown,
                       const std::function<bool(const std::string&)>& is_ours, bool is_replaced) {
  std::error_code error;
  const folder_fs::file_status status = folder_fs::symlink_status(path, error);
  if (!folder_fs::exists(status)) return std::nullopt;
  if (!folder_fs::is_directory(status)) return Refused(shown, "exists, and is no folder");
  bool is_empty = true;
  if (auto refused = CheckContents(path, "", shown, is_ours, is_empty)) return refused;
  if (is_empty || is_replaced) return std::nullopt;
  return Refused(shown, "exists; `--force` replaces it");
}

// The folder, open and locked for this process; negative where there is none, or no locks. False: another one has it.
bool Lock(const std::string& path, int& lock) {
  lock = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0) return true;
  const bool is_held = errno == EWOULDBLOCK;
  close(std::exchange(lock, -1));
  return !is_held;
}

}  // namespace

runtime::Result<PendingFolder> PendingFolder::Create(const std::string& place,
                                                     const std::function<bool(const std::string&)>& is_ours,
                                                     bool is_replaced) {
  // Without a slash at its end, and where a link leads to.
  std::error_code error;
  folder_fs::path resolved = folder_fs::weakly_canonical(place, error);
  if (error) return Failed("use", place, error);
  if (!resolved.has_filename()) resolved = resolved.parent_path();
  if (resolved.has_parent_path()) folder_fs::create_directories(resolved.parent_path(), error);
  if (error) return Failed("make", resolved.parent_path().string(), error);
  const std::string target = resolved.string(), path = target + kUnfinished;
  if (auto refused = CheckMayGo(target, place, is_ours, is_replaced)) return *refused;
  int lock = -1;
  const auto is_held = [&] {
    return runtime::Error{runtime::ExitCode::kEnvironment,
                          absl::StrCat("another run is writing ", QuotedPath(place), " now")};
  };
  if (!Lock(path, lock)) return is_held();
  const PendingFolder left("", "", lock);  // Holds the lock of what is removed.
  // What a run has left that was killed.
  const auto is_left = [&](const std::string& name) {
    return is_ours(std::string(absl::StripSuffix(name, kUnfinished)));
  };
  if (auto refused = CheckMayGo(path, path, is_left, true)) return *refused;
  folder_fs::remove_all(path, error);
  if (error) return Failed("remove", path, error);
  folder_fs::create_directory(path, error);
  if (error) return Failed("make", place, error);
  if (!Lock(path, lock)) return is_held();
  return PendingFolder(target, path, lock);
}

PendingFolder::~PendingFolder() {
  std::error_code ignored;
  if (!place_.empty()) folder_fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

FolderError PendingFolder::Rename() {
  std::error_code error, ignored;
  const std::string replaced = place_ + ".replaced";
  const bool is_there = folder_fs::exists(folder_fs::symlink_status(place_, ignored));
  if (is_there) folder_fs::rename(place_, replaced, error);
  if (error) return Failed("replace", place_, error);
  folder_fs::rename(path_, place_, error);
  if (error) {
    if (is_there) folder_fs::rename(replaced, place_, ignored);
    return Failed("write", place_, error);
  }
  if (!SyncFolderOf(place_)) return Failed("write", place_, std::error_code(errno, std::generic_category()));
  place_.clear();
  if (is_there) folder_fs::remove_all(replaced, error);
  if (error) return Failed("remove", replaced, error);
  return std::nullopt;
}

}  // namespace cleave::tools
