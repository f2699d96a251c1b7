#include "tools/driver/choose_cluster.h"

#include <utility>

namespace cleave::tools {
namespace {

std::string ClusterName(const CompileOptions& options) {
  if (!options.cluster.empty()) return options.cluster;
  return options.target == "cuda" ? "h100x8" : "cpu";
}

search::ClusterRequest RequestOf(const CompileOptions& options) {
  return {.name_or_path = ClusterName(options), .devices = options.devices};
}

}  // namespace

std::optional<search::Machines> MachinesAskedFor(const CompileOptions& options, Diagnostics& diagnostics) {
  return search::FindMachines(ClusterName(options), diagnostics);
}

search::DeviceCounts DevicesAskedFor(const CompileOptions& options, const search::Machines& machines) {
  search::DeviceCounts devices = search::CountDevices(RequestOf(options), machines);
  if (options.cluster.empty()) devices.otherwise = 1;
  return devices;
}

std::optional<search::Cluster> ChooseCluster(const CompileOptions& options, const search::Machines& machines,
                                             const frontend::Module& module, Diagnostics& diagnostics) {
  const ir::ParallelSettings& settings = module.pins.settings;
  search::ClusterRequest request = RequestOf(options);
  if (settings.devices.has_value()) {
    request.model_devices = settings.devices->value;
    request.model_span = settings.devices->span;
  } else if (!settings.mesh.empty()) {
    int64_t product = 1;
    for (const ir::NamedAxis& axis : settings.mesh) product *= axis.size;
    product *= settings.stages.value_or(1);
    request.model_devices = product;
    request.model_span = settings.mesh_span;
  } else if (options.cluster.empty()) {
    request.model_devices = 1;
  }
  std::optional<search::Cluster> cluster = search::ResolveCluster(request, machines, diagnostics);
  if (!cluster.has_value()) return std::nullopt;
  return ForTarget(*std::move(cluster), options.target, module.training.precision);
}

search::Cluster ForTarget(search::Cluster cluster, absl::string_view target, ir::Precision precision) {
  search::PeakRates& peak = cluster.peak;
  if (target == "cuda" && precision != ir::Precision::kTf32) peak.tf32 = 0;
  const bool has_matrix_units = peak.tf32 > 0 || peak.bf16 > 0;
  if (target == "cpu" && peak.loops == 0 && !has_matrix_units) peak.loops = search::kLoopsOfProducts * peak.f32;
  if (target == "cpu") cluster.communicator = Bytes(0);
  return cluster;
}

}  // namespace cleave::tools
