// Scripts with which shells complete the words of `cleave`, made of the descriptions that its parser reads.
#ifndef CLEAVE_TOOLS_SUBCOMMANDS_COMPLETION_H_
#define CLEAVE_TOOLS_SUBCOMMANDS_COMPLETION_H_

#include <string>
#include <vector>

#include "tools/subcommands/subcommands.h"

namespace cleave::tools {

// For share/bash-completion/completions/cleave. It needs bash 4 and nothing else.
std::string BashCompletion(const std::vector<Subcommand>& subcommands);

// For share/zsh/site-functions/_cleave.
std::string ZshCompletion(const std::vector<Subcommand>& subcommands);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_SUBCOMMANDS_COMPLETION_H_
