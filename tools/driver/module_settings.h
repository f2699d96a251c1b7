// The settings of a model as the command line changes them.
#ifndef CLEAVE_TOOLS_DRIVER_MODULE_SETTINGS_H_
#define CLEAVE_TOOLS_DRIVER_MODULE_SETTINGS_H_

#include <string>

#include "frontend/frontend.h"
#include "ir/graph/training/training.h"
#include "tools/driver/options.h"

namespace cleave::tools {

// Settings of the command line replace those of the model's blocks.
void ApplyOptions(const CompileOptions& options, frontend::Module& module);

// Makes the paths of the training's data absolute. In a model they are relative to its file, but the program runs in
// its output folder.
void ResolvePaths(const std::string& model_path, ir::Training& training);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_MODULE_SETTINGS_H_
