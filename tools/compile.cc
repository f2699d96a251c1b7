// Compiles a .model file: see tools/driver/driver.h.

#include <iostream>
#include <variant>

#include "tools/driver/driver.h"
#include "tools/driver/options.h"
#include "tools/driver/standard_output.h"
#include "tools/user_folder/user_folder.h"

int main(int argc, char** argv) {
  if (!cleave::tools::EnterUserFolder()) return static_cast<int>(cleave::tools::ExitCode::kEnvironment);
  const auto parsed = cleave::tools::ParseCommandLine(argc, argv);
  if (const auto* exit = std::get_if<cleave::tools::EarlyExit>(&parsed)) {
    (exit->code == cleave::tools::ExitCode::kDone ? std::cout : std::cerr) << exit->text;
    return static_cast<int>(cleave::tools::EndOutput(exit->code));
  }
  const auto& options = std::get<cleave::tools::CompileOptions>(parsed);
  return static_cast<int>(cleave::tools::EndOutput(cleave::tools::RunCompiler(options), options.error_format));
}
