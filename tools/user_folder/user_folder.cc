#include "tools/user_folder/user_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>

namespace cleave::tools {

bool EnterUserFolder() {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder != nullptr && chdir(folder) != 0) {
    std::cerr << "error: cannot enter the folder " << folder << "\n";
    return false;
  }
  std::error_code error;
  const std::filesystem::path current = std::filesystem::current_path(error);
  if (!error) return true;
  std::cerr << "error: the current folder cannot be found: " << error.message() << "\n";
  return false;
}

}  // namespace cleave::tools
