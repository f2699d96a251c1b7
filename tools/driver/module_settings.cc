#include "tools/driver/module_settings.h"

#include <filesystem>
#include <optional>

#include "base/check/check.h"
#include "search/search.h"

namespace cleave::tools {

void ApplyOptions(const CompileOptions& options, frontend::Module& module) {
  ir::ParallelSettings& parallel = module.pins.settings;
  if (options.devices.has_value()) parallel.devices = {.value = *options.devices, .span = {}};
  if (options.search.has_value()) {
    const std::optional<ir::SearchAlgorithm> algorithm = search::ParseAlgorithm(*options.search);
    CLEAVE_CHECK(algorithm.has_value()) << "the command line let `" << *options.search << "` pass";
    parallel.search = *algorithm;
    parallel.search_given = true;
    parallel.search_span = {};
  }
  if (options.steps.has_value()) module.training.steps = *options.steps;
  if (options.seed.has_value()) module.training.seed = *options.seed;
}

void ResolvePaths(const std::string& model_path, ir::Training& training) {
  const std::filesystem::path folder = std::filesystem::absolute(model_path).parent_path();
  const auto resolve = [&](std::string& path) { path = (folder / path).lexically_normal().string(); };
  training.folder = folder.lexically_normal().string();
  if (!training.data.path.empty()) resolve(training.data.path);
  for (auto& [input, path] : training.data.files) resolve(path);
}

}  // namespace cleave::tools
