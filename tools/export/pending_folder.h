// A folder that is written beside its place, and gets its name when all of it is on disk. What is not finished is
// removed.
//
//   runtime::Result<PendingFolder> folder = PendingFolder::Create("tuned", IsOurs, /*is_replaced=*/false);
//   if (!folder.ok()) return folder.error();
//   ...  // Files in folder.value().path().
//   if (auto error = folder.value().Rename()) return *error;
#ifndef CLEAVE_TOOLS_EXPORT_PENDING_FOLDER_H_
#define CLEAVE_TOOLS_EXPORT_PENDING_FOLDER_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "runtime/error/error.h"

namespace cleave::tools {

class PendingFolder {
 public:
  // A folder that stands at the place already is replaced as a whole where it is empty, or `is_replaced` and `is_ours`
  // holds for the names of all files in it: what somebody else has put there is never removed. Errors: kUsage where it
  // is not replaced, and kEnvironment.
  static runtime::Result<PendingFolder> Create(const std::string& place,
                                               const std::function<bool(const std::string&)>& is_ours,
                                               bool is_replaced);
  PendingFolder(PendingFolder&& other) noexcept
      : place_(std::exchange(other.place_, "")), path_(std::move(other.path_)) {}
  PendingFolder& operator=(PendingFolder&&) = delete;
  ~PendingFolder();

  const std::string& path() const { return path_; }  // Where its files are written.

  std::optional<runtime::Error> Rename();

 private:
  PendingFolder(std::string place, std::string path) : place_(std::move(place)), path_(std::move(path)) {}

  std::string place_;  // Empty where nothing is left to remove.
  std::string path_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_EXPORT_PENDING_FOLDER_H_
