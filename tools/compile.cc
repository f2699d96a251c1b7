// Compiles a .model file: see tools/driver/driver.h.

#include <cstdlib>
#include <iostream>
#include <variant>

#include <unistd.h>

#include "tools/driver/driver.h"
#include "tools/driver/options.h"

int main(int argc, char** argv) {
  // `bazel run` starts programs in a folder of its own; paths are meant from the folder in which the user typed.
  if (const char* folder = std::getenv("BUILD_WORKING_DIRECTORY"); folder != nullptr && chdir(folder) != 0) {
    std::cerr << "cannot enter the folder " << folder << "\n";
    return static_cast<int>(cleave::ExitCode::kEnvironment);
  }
  const auto parsed = cleave::ParseCommandLine(argc, argv);
  if (const auto* exit = std::get_if<cleave::EarlyExit>(&parsed)) {
    (exit->code == cleave::ExitCode::kDone ? std::cout : std::cerr) << exit->text;
    return static_cast<int>(exit->code);
  }
  return static_cast<int>(cleave::RunCompiler(std::get<cleave::CompileOptions>(parsed)));
}
