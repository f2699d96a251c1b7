// The settings of a model as the command line changes them.
#ifndef CLEAVE_TOOLS_DRIVER_MODULE_SETTINGS_H_
#define CLEAVE_TOOLS_DRIVER_MODULE_SETTINGS_H_

#include <string>

#include "base/diagnostic/diagnostic.h"
#include "frontend/frontend.h"
#include "ir/graph/training/training.h"
#include "ir/sharding/pins/pins.h"
#include "tools/driver/options.h"

namespace cleave::tools {

// Settings of the command line replace those of the model's blocks.
void ApplyOptions(const CompileOptions& options, frontend::Module& module);

// For `--devices 1`: takes away what only more devices can do, the cuts of pins, a mesh with more of them and stages,
// and warns (W0608). So a model that is pinned for many devices runs on one as it is, to compare with.
void SetPinsAside(ir::Pins& pins, Diagnostics& diagnostics);

// Makes the paths of the training's data absolute. In a model they are relative to its file, but the program runs in
// its output folder.
void ResolvePaths(const std::string& model_path, ir::Training& training);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_MODULE_SETTINGS_H_
