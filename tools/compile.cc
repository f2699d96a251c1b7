// Compiles a .model file: see tools/driver/driver.h.

#include <iostream>
#include <variant>

#include "tools/driver/driver.h"
#include "tools/driver/options.h"
#include "tools/user_folder/user_folder.h"

int main(int argc, char** argv) {
  if (!cleave::EnterUserFolder()) return static_cast<int>(cleave::ExitCode::kEnvironment);
  const auto parsed = cleave::ParseCommandLine(argc, argv);
  if (const auto* exit = std::get_if<cleave::EarlyExit>(&parsed)) {
    (exit->code == cleave::ExitCode::kDone ? std::cout : std::cerr) << exit->text;
    return static_cast<int>(exit->code);
  }
  return static_cast<int>(cleave::RunCompiler(std::get<cleave::CompileOptions>(parsed)));
}
