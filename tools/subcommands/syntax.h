// What can follow a subcommand, read from its description.
#ifndef CLEAVE_TOOLS_SUBCOMMANDS_SYNTAX_H_
#define CLEAVE_TOOLS_SUBCOMMANDS_SYNTAX_H_

#include <string>
#include <vector>

#include "tools/subcommands/subcommands.h"

namespace cleave::tools {

// An option or an argument.
struct SyntaxPart {
  std::string name;         // "--target", "MODEL"
  std::string description;  // One sentence.
  // What its value may be, as in SetValue; where that is a subcommand or a diagnostic code, each of them. None: a flag.
  std::vector<std::string> alternatives;
  bool is_value_optional = false;
  bool is_repeated = false;
};

struct Syntax {
  std::vector<SyntaxPart> options;  // --help among them.
  std::vector<SyntaxPart> arguments;
};

Syntax SyntaxOf(const Subcommand& subcommand);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_SUBCOMMANDS_SYNTAX_H_
