// The command `cleave`: one subcommand for each tool of a user.
#ifndef CLEAVE_TOOLS_SUBCOMMANDS_SUBCOMMANDS_H_
#define CLEAVE_TOOLS_SUBCOMMANDS_SUBCOMMANDS_H_

#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// A subcommand, as help, dispatch and the completion of shells know it.
struct Subcommand {
  std::string name;
  std::string summary;
  void (*describe)(CLI::App& app);  // Adds its options and arguments, to be shown.
  // `name`: "cleave compile". The words follow the name of the subcommand.
  ExitCode (*run)(const std::string& name, const std::string& summary, const std::vector<std::string>& words);
};

// In the order in which the help shows them.
const std::vector<Subcommand>& Subcommands();

// What `cleave` does with `words`; it prints to standard output and standard error.
ExitCode RunCleave(const std::vector<std::string>& words);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_SUBCOMMANDS_SUBCOMMANDS_H_
