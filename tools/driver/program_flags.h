// Which settings of a model are flags of its program, so that another value needs no other program.
#ifndef CLEAVE_TOOLS_DRIVER_PROGRAM_FLAGS_H_
#define CLEAVE_TOOLS_DRIVER_PROGRAM_FLAGS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/driver/options.h"
#include "tools/driver/report.h"

namespace cleave::tools {

struct ProgramFlags {
  std::set<std::string> arguments;  // The model's, which only the compiler changes.
  std::set<std::string> numbers;    // What `--set` of the program changes: "lr", "optimizer.beta1".
  int64_t devices = 1;              // The ranks of the program.
};

// Whether those of `options.overrides` that may be numbers of the program are left to the program.
enum class MaybeNumbers { kLeftOut, kCompiled };

// Reads the model as far as no plan is needed for it; nullopt after reporting what is wrong.
std::optional<ProgramFlags> FlagsOfProgram(const CompileOptions& options, MaybeNumbers numbers, Report& report);

// The words with which the program, if any flag of it does so, gives a setting this value: {"--set", "lr=0.1"}; none
// where only the compiler changes it. So a program needs its own compile where a number is 0, which decides what is
// computed.
std::vector<std::string> FlagOf(const std::string& name, const std::string& value, const ProgramFlags& flags);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_PROGRAM_FLAGS_H_
