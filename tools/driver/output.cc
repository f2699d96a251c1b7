// Reading guide: WriteOutput is the protocol; a Target is the folder while it is written.
#include "tools/driver/output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/file/descriptor.h"
#include "base/file/file.h"
#include "base/status/status_macros.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

// Lists the files of the last compile, one per line. It marks a folder as ours and shows what an earlier compile has
// left.
constexpr char kManifest[] = ".cleave_files";
constexpr char kStaging[] = ".cleave_staging";
constexpr char kNext[] = ".cleave_next";
constexpr char kLock[] = ".cleave_compile_lock";
constexpr char kPlan[] = "plan.json";
constexpr int64_t kMostManifestBytes = int64_t{64} << 20;

std::error_code LastError() { return std::error_code(errno, std::generic_category()); }

absl::Status Failure(const std::string& attempt, const fs::path& path, const std::error_code& error) {
  return absl::UnavailableError(absl::StrCat("cannot ", attempt, " `", path.string(), "`: ", error.message()));
}

// The folder, which stays the same one when its path begins to lead elsewhere. Paths are relative to it.
class Target {
 public:
  // FailedPrecondition if it belongs to another user, or every user can write to it.
  static absl::StatusOr<Target> Open(const fs::path& path, uid_t user, std::function<void()> before_change) {
    Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status;
    if (folder.number() < 0 || fstat(folder.number(), &status) != 0)
      return Failure("open the folder", path, LastError());
    if (status.st_uid != user) {
      return absl::FailedPreconditionError(absl::StrCat("the folder `", path.string(), "` belongs to user ",
                                                        status.st_uid, ", who could change what is written"));
    }
    if ((status.st_mode & S_IWOTH) != 0) {
      return absl::FailedPreconditionError(absl::StrCat("every user can write to the folder `", path.string(),
                                                        "`, and so change what is written; `chmod o-w` ends it"));
    }
    return Target(path, std::move(folder), std::move(before_change));
  }

  // A lock that ends with the returned descriptor.
  absl::StatusOr<Descriptor> Lock() const {
    before_change_();
    Descriptor lock(open(Real(kLock).c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (lock.number() < 0) return Failure("write", Shown(kLock), LastError());
    // Some file systems of clusters have no locks; there nothing tells that two compiles meet.
    if (flock(lock.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      return absl::UnavailableError(
          absl::StrCat("another compile is writing into the folder `", path_.string(), "` at this moment"));
    }
    return lock;
  }

  bool Has(const std::string& path) const {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(Real(path), ignored));
  }

  // Whether a file of the last compile need not be written again.
  bool Holds(const OutputFile& file) const {
    struct stat status;
    if (lstat(Real(file.path).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    if (file.executable && (status.st_mode & S_IXUSR) == 0) return false;
    const auto bytes = static_cast<int64_t>(file.text.size());
    if (status.st_size != bytes || !CheckParents(file.path).ok()) return false;
    const absl::StatusOr<std::string> text = ReadFile(Real(file.path), {.what = "file", .most_bytes = bytes});
    return text.ok() && *text == file.text;
  }

  std::set<std::string> Manifest(const std::string& folder) const {
    const absl::StatusOr<std::string> text =
        ReadFile(Real(folder + kManifest), {.what = "list of files", .most_bytes = kMostManifestBytes});
    std::set<std::string> paths;
    if (!text.ok()) return paths;
    for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
      // A manifest that was edited must not make us remove what lies elsewhere.
      const fs::path path{std::string(line)};
      if (path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end()) paths.emplace(line);
    }
    return paths;
  }

  // Whether a file can take this place. What is found only while files are replaced would leave the folder unfinished.
  absl::Status CheckPlace(const fs::path& path) const {
    CLEAVE_RETURN_IF_ERROR(CheckParents(path));
    std::error_code ignored;
    if (fs::is_directory(fs::symlink_status(Real(path), ignored))) {
      return Failure("write", Shown(path), std::make_error_code(std::errc::is_a_directory));
    }
    return absl::OkStatus();
  }

  absl::Status Create(const std::string& path, const std::string& text, bool executable) const {
    CLEAVE_RETURN_IF_ERROR(CreateParents(path));
    before_change_();
    const int mode = executable ? 0777 : 0666;
    const Descriptor file(open(Real(path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (file.number() < 0) return Failure("write", Shown(path), LastError());
    return WriteAll(file, text) ? absl::OkStatus() : Failure("write", Shown(path), LastError());
  }

  // Nobody else can put anything there.
  absl::Status CreatePrivateFolder(const std::string& path) const {
    before_change_();
    return mkdir(Real(path).c_str(), 0700) == 0 ? absl::OkStatus()
                                                : Failure("create the folder", Shown(path), LastError());
  }

  absl::Status Move(const std::string& from, const std::string& to) const {
    CLEAVE_RETURN_IF_ERROR(CreateParents(to));
    before_change_();
    return rename(Real(from).c_str(), Real(to).c_str()) == 0 ? absl::OkStatus()
                                                             : Failure("write", Shown(to), LastError());
  }

  // With the folders that it leaves empty, such as that of a rank that the new plan does not have. A folder or a link
  // that the user has put in its place stays.
  absl::Status Remove(const std::string& path) const {
    if (!CheckParents(path).ok()) return absl::OkStatus();
    before_change_();
    if (unlink(Real(path).c_str()) != 0 && errno != ENOENT && errno != ENOTDIR && errno != EISDIR) {
      return Failure("remove", Shown(path), LastError());
    }
    for (fs::path left = fs::path(path).parent_path(); !left.empty(); left = left.parent_path()) {
      before_change_();
      if (rmdir(Real(left).c_str()) != 0 && errno != ENOENT) break;
    }
    return absl::OkStatus();
  }

  absl::Status RemoveAll(const std::string& path) const {
    before_change_();
    std::error_code error;
    fs::remove_all(Real(path), error);
    return error ? Failure("remove", Shown(path), error) : absl::OkStatus();
  }

  // What lies in a folder, ordered.
  absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) const {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(Real(folder), error), end; !error && entry != end; entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    if (error) return Failure("look into the folder", Shown(folder), error);
    std::sort(names.begin(), names.end());
    return names;
  }

  // The files in a folder and those below it, relative to that folder, in the order of their names.
  absl::StatusOr<std::set<std::string>> FilesIn(const std::string& folder) const {
    std::set<std::string> files;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(Real(folder), error), end; !error && entry != end;
         entry.increment(error)) {
      if (!entry->is_directory(error)) files.insert(entry->path().lexically_relative(Real(folder)).string());
    }
    if (error) return Failure("look into the folder", Shown(folder), error);
    return files;
  }

 private:
  Target(fs::path path, Descriptor folder, std::function<void()> before_change)
      : path_(std::move(path)), folder_(std::move(folder)), before_change_(std::move(before_change)) {}

  fs::path Real(const fs::path& path) const {
    return fs::path(absl::StrCat("/proc/self/fd/", folder_.number())) / path;
  }
  fs::path Shown(const fs::path& path) const { return path_ / path; }

  // A link would lead out of the folder.
  absl::Status CheckParents(const fs::path& path) const {
    for (fs::path parent = path.parent_path(); !parent.empty(); parent = parent.parent_path()) {
      std::error_code ignored;
      const fs::file_status status = fs::symlink_status(Real(parent), ignored);
      if (!fs::exists(status) || fs::is_directory(status)) continue;
      return absl::UnavailableError(absl::StrCat("cannot write `", Shown(path).string(), "`: `", Shown(parent).string(),
                                                 "` is ", fs::is_symlink(status) ? "a symbolic link" : "not a folder"));
    }
    return absl::OkStatus();
  }

  absl::Status CreateParents(const fs::path& path) const {
    CLEAVE_RETURN_IF_ERROR(CheckParents(path));
    if (!path.has_parent_path() || Has(path.parent_path().string())) return absl::OkStatus();
    before_change_();
    std::error_code error;
    fs::create_directories(Real(path.parent_path()), error);
    return error ? Failure("create the folder", Shown(path.parent_path()), error) : absl::OkStatus();
  }

  fs::path path_;
  Descriptor folder_;
  std::function<void()> before_change_;
};

// Whether a file is a plan, by the format that it names at its beginning.
bool IsPlan(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string beginning(256, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return absl::StrContains(beginning, "\"cleave-plan\"");
}

// ".plan.json.1234": what the process 1234 writes before it becomes plan.json. A process that is killed leaves it.
std::string UnfinishedPlan(const std::string& process) { return absl::StrCat(".", kPlan, ".", process); }

bool IsUnfinishedPlan(const std::string& name) {
  const size_t size = UnfinishedPlan("").size();
  return absl::StartsWith(name, UnfinishedPlan("")) && name.size() > size &&
         name.find_first_not_of("0123456789", size) == std::string::npos;
}

// Whether a folder holds nothing, or nothing but what a compile has begun and a plan without its program.
absl::StatusOr<bool> IsEmpty(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name == kPlan && IsPlan(entry->path())) continue;
    if (name != kStaging && name != kNext && name != kLock && !IsUnfinishedPlan(name)) return false;
  }
  if (error) return Failure("look into the folder", folder, error);
  return true;
}

// Whether there is a folder, to which a link may lead. FailedPrecondition if there is something else, or it belongs to
// another user.
absl::StatusOr<bool> IsFolderOf(uid_t user, const std::string& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) return false;
  if (!fs::is_directory(status)) return absl::FailedPreconditionError(absl::StrCat("`", folder, "` is not a folder"));
  CLEAVE_RETURN_IF_ERROR(Target::Open(folder, user, [] {}).status());
  return true;
}

// Makes the folder where it is not there yet. Whatever the umask is, others cannot write to it.
absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  const bool is_new = fs::create_directories(folder, error);
  if (!error && is_new) fs::permissions(folder, fs::perms::others_write, fs::perm_options::remove, error);
  return error ? Failure("create the folder", folder, error) : absl::OkStatus();
}

// Moves `files`, ordered by path, out of the folder `from`; those of a folder that is not there yet together with it.
absl::Status MoveAll(const Target& target, const std::string& from, const std::set<std::string>& files) {
  std::string moved;  // "runtime/"
  for (const std::string& file : files) {
    if (!moved.empty() && absl::StartsWith(file, moved)) continue;
    const std::string top = file.substr(0, file.find('/'));
    const bool is_new_folder = top != file && !target.Has(top);
    moved = is_new_folder ? absl::StrCat(top, "/") : "";
    const std::string& path = is_new_folder ? top : file;
    CLEAVE_RETURN_IF_ERROR(target.Move(from + path, path));
  }
  return absl::OkStatus();
}

absl::Status RemoveUnfinishedPlans(const Target& target) {
  CLEAVE_ASSIGN_OR_RETURN(const std::vector<std::string> names, target.NamesIn("."));
  for (const std::string& name : names) {
    if (IsUnfinishedPlan(name)) CLEAVE_RETURN_IF_ERROR(target.Remove(name));
  }
  return absl::OkStatus();
}

// Removes what the next compile does not have, and puts what is in kNext in its place; the manifest last, because until
// then it says what has to be removed. Each step can be done again.
absl::Status Finish(const Target& target) {
  const std::string next = absl::StrCat(kNext, "/");
  CLEAVE_ASSIGN_OR_RETURN(std::set<std::string> files, target.FilesIn(kNext));
  // Without one, only the last step is missing.
  const bool has_manifest = files.erase(kManifest) > 0;
  if (has_manifest) {
    const std::set<std::string> kept = target.Manifest(next);
    for (const std::string& file : target.Manifest("")) {
      if (kept.count(file) == 0) CLEAVE_RETURN_IF_ERROR(target.Remove(file));
    }
    CLEAVE_RETURN_IF_ERROR(MoveAll(target, next, files));
    CLEAVE_RETURN_IF_ERROR(target.Move(next + kManifest, kManifest));
  }
  CLEAVE_RETURN_IF_ERROR(target.Move(kNext, kStaging));
  return target.RemoveAll(kStaging);
}

}  // namespace

absl::Status CheckPlanFolder(const std::string& folder, uid_t user) {
  CLEAVE_ASSIGN_OR_RETURN(const bool exists, IsFolderOf(user, folder));
  if (!exists) return absl::OkStatus();
  std::error_code error;
  for (const char* name : {kManifest, kStaging, kNext}) {
    if (!fs::exists(fs::path(folder) / name, error)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the folder `", folder, "` holds a program, of which its plan.json is a part"));
  }
  const fs::path plan = fs::path(folder) / kPlan;
  if (!fs::exists(fs::symlink_status(plan, error)) || IsPlan(plan)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("`", plan.string(), "` is not a plan that a compile has written"));
}

absl::Status WritePlan(const std::string& folder, const std::string& text, const std::function<void()>& before_change) {
  CLEAVE_RETURN_IF_ERROR(CheckPlanFolder(folder));
  before_change();
  CLEAVE_RETURN_IF_ERROR(MakeFolder(folder));
  CLEAVE_ASSIGN_OR_RETURN(const Target target, Target::Open(folder, geteuid(), before_change));
  const std::string next = UnfinishedPlan(absl::StrCat(getpid()));
  CLEAVE_RETURN_IF_ERROR(target.Remove(next));  // A process with this number was stopped.
  absl::Status written = target.CheckPlace(kPlan);
  if (written.ok()) written = target.Create(next, text, /*executable=*/false);
  if (written.ok()) written = target.Move(next, kPlan);
  if (written.ok()) return written;
  target.Remove(next).IgnoreError();
  return absl::Status(written.code(), absl::StrReplaceAll(written.message(), {{next, kPlan}}));
}

absl::Status CheckOutputFolder(const std::string& folder, uid_t user) {
  CLEAVE_ASSIGN_OR_RETURN(const bool exists, IsFolderOf(user, folder));
  if (!exists) return absl::OkStatus();
  std::error_code error;
  if (fs::exists(fs::path(folder) / kManifest, error) || fs::exists(fs::path(folder) / kNext, error)) {
    return absl::OkStatus();
  }
  CLEAVE_ASSIGN_OR_RETURN(const bool is_empty, IsEmpty(folder));
  if (is_empty) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the folder `", folder, "` holds files that no compile has written"));
}

absl::Status WriteOutput(const std::string& folder, const std::vector<OutputFile>& files,
                         const std::function<void()>& before_change) {
  CLEAVE_RETURN_IF_ERROR(CheckOutputFolder(folder));
  before_change();
  CLEAVE_RETURN_IF_ERROR(MakeFolder(folder));
  CLEAVE_ASSIGN_OR_RETURN(const Target target, Target::Open(folder, geteuid(), before_change));
  CLEAVE_ASSIGN_OR_RETURN(const Descriptor lock, target.Lock());
  CLEAVE_RETURN_IF_ERROR(target.RemoveAll(kStaging));
  CLEAVE_RETURN_IF_ERROR(RemoveUnfinishedPlans(target));
  if (target.Has(kNext)) CLEAVE_RETURN_IF_ERROR(Finish(target));
  CLEAVE_RETURN_IF_ERROR(target.CreatePrivateFolder(kStaging));
  const std::string staging = absl::StrCat(kStaging, "/");
  OutputFile manifest{.path = kManifest, .text = ""};
  for (const OutputFile& file : files) {
    absl::StrAppend(&manifest.text, file.path, "\n");
    if (target.Holds(file)) continue;
    CLEAVE_RETURN_IF_ERROR(target.CheckPlace(file.path));
    CLEAVE_RETURN_IF_ERROR(target.Create(staging + file.path, file.text, file.executable));
  }
  CLEAVE_RETURN_IF_ERROR(target.Create(staging + kManifest, manifest.text, /*executable=*/false));
  CLEAVE_RETURN_IF_ERROR(target.Move(kStaging, kNext));
  return Finish(target);
}

}  // namespace cleave::tools
