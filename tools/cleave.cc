// The command `cleave`: see tools/subcommands/subcommands.h.

#include <string>
#include <vector>

#include "tools/command_line/standard_output.h"
#include "tools/subcommands/subcommands.h"
#include "tools/user_folder/user_folder.h"

int main(int argc, char** argv) {
  if (!cleave::tools::EnterUserFolder()) return static_cast<int>(cleave::tools::ExitCode::kEnvironment);
  const std::vector<std::string> words(argv + 1, argv + argc);
  return static_cast<int>(
      cleave::tools::EndOutput(cleave::tools::RunCleave(words), cleave::tools::FormatAskedFor(words)));
}
