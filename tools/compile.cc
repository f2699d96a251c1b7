// Compiles a .model file: see tools/driver/driver.h.

#include <string>
#include <vector>

#include "tools/command_line/standard_output.h"
#include "tools/driver/driver.h"
#include "tools/user_folder/user_folder.h"

int main(int argc, char** argv) {
  if (!cleave::tools::EnterUserFolder()) return static_cast<int>(cleave::tools::ExitCode::kEnvironment);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto code = cleave::tools::RunCommandLine(
      cleave::tools::Command::kCompile, "compile",
      "Compiles a .model file into a program that trains it on any number of ranks.", words);
  return static_cast<int>(cleave::tools::EndOutput(code, cleave::tools::FormatAskedFor(words)));
}
