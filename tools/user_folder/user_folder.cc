#include "tools/user_folder/user_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

namespace cleave::tools {

bool EnterUserFolder() {
  std::error_code error;
  const std::filesystem::path current = std::filesystem::current_path(error);
  if (error) {
    std::cerr << "error: the current folder cannot be found: " << error.message() << "\n";
    return false;
  }
  // Programs that `bazel run` has started hand the variable on to those that they start, in whatever folder.
  const bool is_run_by_bazel = current.string().find(".runfiles/") != std::string::npos;
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || !is_run_by_bazel || chdir(folder) == 0) return true;
  std::cerr << "error: cannot enter the folder " << folder << "\n";
  return false;
}

}  // namespace cleave::tools
