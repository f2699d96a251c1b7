// The command `cleave weights`: lists, compares, exports and imports weights.
#ifndef CLEAVE_TOOLS_WEIGHTS_WEIGHTS_H_
#define CLEAVE_TOOLS_WEIGHTS_WEIGHTS_H_

#include <iostream>
#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// Adds the options and arguments, to be shown.
void DescribeWeights(CLI::App& app);

// `words`: `list SOURCE`, `diff SOURCE SOURCE`, `export SOURCE TARGET` or `import SOURCE TARGET`, and options. Returns
// kDiffers where `diff` finds what it was not told to tolerate; after a line on `err` kModelWrong for weights or a
// mapping that are wrong, kEnvironment for what cannot be written, and kUsage.
ExitCode RunWeights(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                    std::ostream& out = std::cout, std::ostream& err = std::cerr);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_WEIGHTS_H_
