#include "tools/driver/module_settings.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check/check.h"
#include "search/search.h"

namespace cleave::tools {
namespace {

bool IsCut(const ir::CountsPin& counts) {
  return counts.has_value() &&
         std::any_of(counts->begin(), counts->end(), [](const auto& count) { return count.value > 1; });
}

// Whether the pin cuts a tensor, or names an axis that is not one of `axes`.
bool NeedsDevices(const ir::Pin& pin, const std::set<std::string>& axes) {
  if (const auto* shard = std::get_if<ir::ShardPin>(&pin.demand)) {
    return IsCut(shard->out) || std::any_of(shard->in.begin(), shard->in.end(), IsCut);
  }
  const auto* layout = std::get_if<ir::LayoutPin>(&pin.demand);
  if (layout == nullptr) return false;
  for (const auto& dimension : layout->dimensions) {
    for (const ir::Placed<std::string>& axis : dimension) {
      if (axes.count(axis.value) == 0) return true;
    }
  }
  return false;
}

}  // namespace

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
  module.training.mode = options.mode;
}

void SetPinsAside(ir::Pins& pins, Diagnostics& diagnostics) {
  std::vector<Span> places;
  const auto note = [&](const Span& place) {
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  };
  std::set<std::string> axes;
  for (const ir::NamedAxis& axis : pins.settings.mesh) axes.insert(axis.name);
  std::vector<ir::Pin> kept;
  for (ir::Pin& pin : pins.pins) {
    if (NeedsDevices(pin, axes)) {
      note(pin.span);
    } else {
      kept.push_back(std::move(pin));
    }
  }
  pins.pins = std::move(kept);
  // Axes of one device can be named, and cut nothing.
  for (ir::NamedAxis& axis : pins.settings.mesh) {
    if (axis.size > 1) note(pins.settings.mesh_span);
    axis.size = 1;
  }
  if (pins.settings.stages != 1) note(pins.settings.stages_span);
  pins.settings.stages = 1;
  for (const ir::StagePin& pin : pins.stages) note(pin.span);
  pins.stages.clear();
  if (places.empty()) return;
  // With one device there is one plan, and `replicate` finds it without pins.
  if (pins.settings.search == ir::SearchAlgorithm::kPropagate) pins.settings.search = ir::SearchAlgorithm::kReplicate;
  Diagnostic warning =
      Warning(Code::kW0608, "cuts of pins, of the mesh and into stages are set aside, because there is one device");
  for (const Span& place : places) warning.labels.push_back({place, "set aside"});
  diagnostics.Add(std::move(warning));
}

void ResolvePaths(const std::string& model_path, ir::Training& training) {
  const std::filesystem::path folder = std::filesystem::absolute(model_path).parent_path();
  const auto resolve = [&](std::string& path) { path = (folder / path).lexically_normal().string(); };
  training.folder = folder.lexically_normal().string();
  if (!training.params.empty()) resolve(training.params);
  const std::function<void(ir::DataSource&)> resolve_all = [&](ir::DataSource& data) {
    if (!data.path.empty()) resolve(data.path);
    for (auto& [input, path] : data.files) resolve(path);
    for (ir::DataSource& part : data.parts) resolve_all(part);
  };
  resolve_all(training.data);
}

}  // namespace cleave::tools
