#include "tools/user_folder/user_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace cleave::tools {

bool EnterUserFolder() {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || chdir(folder) == 0) return true;
  std::cerr << "cannot enter the folder " << folder << "\n";
  return false;
}

}  // namespace cleave::tools
