#include "tools/driver/output.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

// Lists the files of the last compile, one per line. It marks a folder as ours and shows what an earlier compile has
// left.
constexpr char kManifest[] = ".cleave_files";

absl::Status Failure(const std::string& attempt, const fs::path& path, const std::error_code& error) {
  return absl::UnavailableError(absl::StrCat("cannot ", attempt, " `", path.string(), "`: ", error.message()));
}

absl::Status WriteFile(const fs::path& path, const std::string& text, bool executable) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return Failure("create the folder", path.parent_path(), error);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return Failure("write", path, std::error_code(errno, std::generic_category()));
  if (executable) {
    fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add,
                    error);
    if (error) return Failure("make executable", path, error);
  }
  return absl::OkStatus();
}

std::vector<std::string> ManifestOf(const fs::path& folder) {
  std::vector<std::string> paths;
  std::ifstream in(folder / kManifest);
  for (std::string line; std::getline(in, line);) {
    // A manifest that was edited must not make us remove what lies elsewhere.
    const fs::path path(line);
    const bool inside = path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
    if (!line.empty() && inside) paths.push_back(line);
  }
  return paths;
}

// Removes a folder when it goes out of scope.
class ScopedFolder {
 public:
  explicit ScopedFolder(fs::path path) : path_(std::move(path)) {}
  ScopedFolder(const ScopedFolder&) = delete;
  ScopedFolder& operator=(const ScopedFolder&) = delete;
  ~ScopedFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

absl::Status CheckOutputFolder(const std::string& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) return absl::OkStatus();
  if (!fs::is_directory(status)) return absl::FailedPreconditionError(absl::StrCat("`", folder, "` is not a folder"));
  if (fs::exists(fs::path(folder) / kManifest, error)) return absl::OkStatus();
  const bool empty = fs::is_empty(folder, error);
  if (error) return Failure("look into the folder", folder, error);
  if (empty) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the folder `", folder, "` holds files that no compile has written"));
}

absl::Status WriteOutput(const std::string& folder, const std::vector<OutputFile>& files) {
  CLEAVE_RETURN_IF_ERROR(CheckOutputFolder(folder));
  const fs::path target = fs::absolute(folder).lexically_normal();
  const fs::path parent = (target.has_filename() ? target : target.parent_path()).parent_path();
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) return Failure("create the folder", parent, error);
  const ScopedFolder staging(parent / absl::StrCat(".cleave_", getpid()));

  std::string manifest;
  std::set<std::string> paths;
  for (const OutputFile& file : files) {
    paths.insert(file.path);
    absl::StrAppend(&manifest, file.path, "\n");
    CLEAVE_RETURN_IF_ERROR(WriteFile(staging.path() / file.path, file.text, file.executable));
  }
  CLEAVE_RETURN_IF_ERROR(WriteFile(staging.path() / kManifest, manifest, /*executable=*/false));

  const std::vector<std::string> earlier = ManifestOf(target);
  fs::create_directories(target, error);
  if (error) return Failure("create the folder", target, error);
  // The manifest comes first: if we are stopped before the end, the folder is still known as ours.
  fs::rename(staging.path() / kManifest, target / kManifest, error);
  if (error) return Failure("write", target / kManifest, error);
  for (const OutputFile& file : files) {
    const fs::path place = target / file.path;
    if (ReadFile(place) == file.text) continue;
    fs::create_directories(place.parent_path(), error);
    if (error) return Failure("create the folder", place.parent_path(), error);
    fs::rename(staging.path() / file.path, place, error);
    if (error) return Failure("write", place, error);
  }
  for (const std::string& path : earlier) {
    if (paths.count(path) > 0) continue;
    fs::remove(target / path, error);
    // A rank that the new plan does not have leaves an empty folder, which is removed with its last file.
    const fs::path left = (target / path).parent_path();
    if (left != target && fs::is_empty(left, error) && !error) fs::remove(left, error);
  }
  return absl::OkStatus();
}

}  // namespace cleave::tools
