// `cleave import`: from a folder of Hugging Face to a model, its weights and what to do with them.
//
//   RunImport("cleave import", "Makes a model …", {"Llama-3.2-1B"}, std::cout, std::cerr);
#ifndef CLEAVE_TOOLS_IMPORT_IMPORT_H_
#define CLEAVE_TOOLS_IMPORT_IMPORT_H_

#include <iostream>
#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// Adds the options and arguments, to be shown.
void DescribeImport(CLI::App& app);

// Writes NAME.model, NAME.map, weights.safetensors and README.md into a folder. Everything is checked before anything
// is written: config.json by the rules of its family, the model by the compiler, and the names and shapes of the
// weights by the model. Returns kModelWrong where something of these is wrong, kEnvironment where it cannot be written,
// kUsage.
ExitCode RunImport(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                   std::ostream& out = std::cout, std::ostream& err = std::cerr);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_IMPORT_IMPORT_H_
