#include "tools/export/pending_folder.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

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

// Whether a folder, or nothing, is at the path, and all of it may go. `shown`: the path, for messages.
FolderError CheckMayGo(const std::string& path, const std::string& shown,
                       const std::function<bool(const std::string&)>& is_ours, bool is_replaced) {
  std::error_code error;
  const folder_fs::file_status status = folder_fs::symlink_status(path, error);
  if (!folder_fs::exists(status)) return std::nullopt;
  if (!folder_fs::is_directory(status)) return Refused(shown, "exists, and is no folder");
  bool is_empty = true;
  for (folder_fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    is_empty = false;
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!is_ours(name) || folder_fs::is_directory(entry->symlink_status(ignored))) {
      return Refused(shown, absl::StrCat("has ", QuotedPath(name), ", which is nothing that is written here"));
    }
  }
  if (error) return Failed("read", shown, error);
  if (is_empty || is_replaced) return std::nullopt;
  return Refused(shown, "exists; `--force` replaces it");
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
  const std::string target = resolved.string(), path = target + kUnfinished;
  if (auto refused = CheckMayGo(target, place, is_ours, is_replaced)) return *refused;
  // What an export has left that was killed.
  const auto is_left = [&](const std::string& name) {
    return is_ours(std::string(absl::StripSuffix(name, kUnfinished)));
  };
  if (auto refused = CheckMayGo(path, path, is_left, true)) return *refused;
  folder_fs::remove_all(path, error);
  if (error) return Failed("remove", path, error);
  folder_fs::create_directory(path, error);
  if (error) return Failed("make", place, error);
  return PendingFolder(target, path);
}

PendingFolder::~PendingFolder() {
  std::error_code ignored;
  if (!place_.empty()) folder_fs::remove_all(path_, ignored);
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
