// A folder that is written beside its place, and gets its name when all of it is on disk. What is not finished is
// removed, also what a run has left that was killed. Of two runs that write one folder at a time the second is refused.
//
//   runtime::Result<PendingFolder> folder = PendingFolder::Create("tuned", IsOurs, /*is_replaced=*/false);
//   if (!folder.ok()) return folder.error();
//   ...  // Files in folder.value().path().
//   if (auto error = folder.value().Rename()) return *error;
#ifndef CLEAVE_TOOLS_PENDING_FOLDER_PENDING_FOLDER_H_
#define CLEAVE_TOOLS_PENDING_FOLDER_PENDING_FOLDER_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "runtime/error/error.h"

namespace cleave::tools {

class PendingFolder {
 public:
  // Also the folders around it, if need be. A folder that stands at the place already is replaced as a whole where it
  // is empty, or `is_replaced` and `is_ours` holds for all that is in it, "config.json", "test/" and
  // "test/tokens.npy": what somebody else has put there is never removed. Errors: kUsage where it is not replaced, and
  // kEnvironment.
  static runtime::Result<PendingFolder> Create(const std::string& place,
                                               const std::function<bool(const std::string&)>& is_ours,
                                               bool is_replaced);
  PendingFolder(PendingFolder&& other) noexcept
      : place_(std::exchange(other.place_, "")), path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}
  PendingFolder& operator=(PendingFolder&&) = delete;
  ~PendingFolder();

  const std::string& path() const { return path_; }  // Where its files are written.

  std::optional<runtime::Error> Rename();

 private:
  PendingFolder(std::string place, std::string path, int lock)
      : place_(std::move(place)), path_(std::move(path)), lock_(lock) {}

  std::string place_;  // Empty where nothing is left to remove.
  std::string path_;
  int lock_ = -1;  // The folder itself, open and locked; negative where the file system has no locks.
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PENDING_FOLDER_PENDING_FOLDER_H_
