// Model files in their canonical layout (dsl/format).
//
//   RunFmt("cleave fmt", "Formats model files.", {"--check", "mlp.model"}, {std::cin, std::cout, std::cerr});
#ifndef CLEAVE_TOOLS_FMT_FMT_H_
#define CLEAVE_TOOLS_FMT_FMT_H_

#include <iostream>
#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// Adds the options and arguments, to be shown.
void DescribeFmt(CLI::App& app);

// Rewrites the files that `words` name, and writes the formatted text of standard input to standard output where they
// name `-` or nothing. A file that is laid out so already is not touched; another is replaced as a whole, also where a
// symbolic link leads to it. With `--check` nothing is written: the names of the files that would change and their
// changes are printed. A file that has a mistake is reported and left as it is; the others are formatted all the same.
//
// Returns kModelWrong after such a mistake, kEnvironment where a file cannot be written, kUsage, else kDone; with
// `--check` kDiffers where a file would change.
ExitCode RunFmt(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                Streams streams);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_FMT_FMT_H_
