#include "tools/driver/pipeline.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "codegen/codegen.h"
#include "dsl/parse/parse.h"
#include "ir/differentiate/differentiate.h"
#include "ir/manual/manual.h"
#include "ir/ops/ops.h"
#include "ir/partition/partition.h"
#include "ir/plan/plan_json.h"
#include "ir/precision/precision.h"
#include "search/cluster/presets.h"
#include "search/cluster/resolve.h"
#include "search/search.h"
#include "tools/driver/files.h"
#include "tools/driver/region_devices.h"

namespace cleave {
namespace {

// A bug of ours: said as such, with what a report of it needs.
ExitCode Bug(const std::string& stage, absl::string_view what) {
  std::cerr << "internal error in " << stage << ": " << what << "\n"
            << "nothing was written; please report this together with the model file\n";
  return ExitCode::kInternal;
}

// Command-line settings win over those of the model's blocks.
void ApplyOptions(const CompileOptions& options, Module& module) {
  ParallelSettings& parallel = module.pins.settings;
  if (options.devices.has_value()) parallel.devices = {.value = *options.devices, .span = {}};
  if (options.search.has_value()) {
    const std::optional<SearchAlgorithm> algorithm = ParseAlgorithm(*options.search);
    CLEAVE_CHECK(algorithm.has_value()) << "the command line let `" << *options.search << "` pass";
    parallel.search = *algorithm;
    parallel.search_given = true;
    parallel.search_span = {};
  }
  if (options.steps.has_value()) module.training.steps = *options.steps;
  if (options.seed.has_value()) module.training.seed = *options.seed;
}

// Paths in a model are relative to its file, but the program runs in its output folder: it gets the absolute path.
void ResolvePaths(const CompileOptions& options, Training& training) {
  const std::filesystem::path folder = std::filesystem::absolute(options.model).parent_path();
  const auto resolve = [&](std::string& path) { path = (folder / path).lexically_normal().string(); };
  training.folder = folder.lexically_normal().string();
  if (!training.data.path.empty()) resolve(training.data.path);
  for (auto& [input, path] : training.data.files) resolve(path);
}

void CheckPrecision(const Module& module, absl::string_view target, Diagnostics& diagnostics) {
  if (module.training.precision != Precision::kTf32 || target != "cpu") return;
  Diagnostic warning = Warning(Code::kW0618, "`precision = tf32` is f32 on the CPU");
  if (module.precision_place.has_value()) std::move(warning).At(*module.precision_place, "multiplies in f32 here");
  diagnostics.Add(std::move(warning)
                      .Note("tf32 is a format of the matrix units of GPUs")
                      .Help("`--target cuda`, or `precision = bf16`, which both targets have"));
}

// The matrix units take f32 tensors only where the model lets them round.
void LeaveOutTf32(const CompileOptions& options, const Training& training, Cluster& cluster) {
  if (options.target == "cuda" && training.precision != Precision::kTf32) cluster.peak.tf32 = 0;
}

// Where nothing is said, GPUs of one kind, whose hosts are as many as the devices ask for.
ClusterRequest ClusterOfOptions(const CompileOptions& options) {
  const std::string of_target = options.target == "cuda" ? "h100x8" : "cpu";
  return {.name_or_path = options.cluster.empty() ? of_target : options.cluster, .devices = options.devices};
}

std::optional<Cluster> ClusterAskedFor(const CompileOptions& options, const ParallelSettings& settings,
                                       Diagnostics& diagnostics) {
  ClusterRequest request = ClusterOfOptions(options);
  if (settings.devices.has_value()) {
    request.model_devices = settings.devices->value;
    request.model_span = settings.devices->span;
  } else if (!settings.mesh.empty()) {
    int64_t product = 1;
    for (const NamedAxis& axis : settings.mesh) product *= axis.size;
    request.model_devices = product;
    request.model_span = settings.mesh_span;
  } else if (options.cluster.empty()) {
    request.model_devices = 1;
  }
  return ResolveCluster(request, diagnostics);
}

// The machines that a plan file was made for, which it knows by name only.
bool ReadClusterOfPlan(const CompileOptions& options, const Plan& plan, Compilation& compilation) {
  const auto refuse = [&](const std::string& what, const std::string& help) {
    compilation.diagnostics.Add(
        Error(Code::kE0604, absl::StrCat("the plan file `", options.plan_file, "` ", what)).Help(help));
    return false;
  };
  if (options.cluster.empty() && !FindPreset(plan.cluster).has_value()) {
    return refuse(absl::StrCat("is for cluster `", plan.cluster, "`, which is not a preset"),
                  "name the file that describes it: `--cluster FILE.json`");
  }
  compilation.cluster = ResolveCluster(
      {.name_or_path = options.cluster.empty() ? plan.cluster : options.cluster, .devices = plan.mesh.rank_count()},
      compilation.diagnostics);
  if (!compilation.cluster.has_value()) return false;
  if (compilation.cluster->name != plan.cluster) {
    return refuse(absl::StrCat("is for cluster `", plan.cluster, "`, not `", compilation.cluster->name, "`"),
                  "leave `--cluster` out, or search for a new plan");
  }
  for (const MeshAxis& axis : plan.mesh.axes()) {
    if (compilation.cluster->FindLink(axis.link) != nullptr) continue;
    return refuse(absl::StrCat("has a mesh axis `", axis.name, "` over the link `", axis.link, "`, which cluster `",
                               plan.cluster, "` does not have"),
                  "search for a new plan");
  }
  return true;
}

ExitCode ReadPlanFile(const CompileOptions& options, Compilation& compilation) {
  const std::string& path = options.plan_file;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in) {
    compilation.diagnostics.Add(Error(Code::kE0604, absl::StrCat("cannot read the plan file `", path, "`")));
    return ExitCode::kModelWrong;
  }
  absl::StatusOr<Plan> plan = ParsePlanJson(text.str(), compilation.training_graph);
  if (!plan.ok()) {
    compilation.diagnostics.Add(Error(Code::kE0604, absl::StrCat("the plan file `", path, "` does not fit this model"))
                                    .Note(std::string(plan.status().message())));
    return ExitCode::kModelWrong;
  }
  const Graph& graph = compilation.training_graph;
  if (graph.is_manual() && RankCount(graph.rank_axes) != plan->mesh.rank_count()) {
    const std::string devices = Plural(plan->mesh.rank_count(), "device");
    compilation.diagnostics.Add(
        Error(Code::kE0604, absl::StrCat("the plan file `", path, "` is for ", devices, ", and the manual model for ",
                                         RankCount(graph.rank_axes)))
            .Help(absl::StrCat("`--devices ", plan->mesh.rank_count(), "`")));
    return ExitCode::kModelWrong;
  }
  for (const std::string& error : VerifyPlan(compilation.training_graph, *plan)) {
    compilation.diagnostics.Add(
        Error(Code::kE0604, absl::StrCat("the plan file `", path, "` does not fit this model")).Note(error));
    return ExitCode::kModelWrong;
  }
  if (options.devices.has_value() && *options.devices != plan->mesh.rank_count()) {
    compilation.diagnostics.Add(
        Error(Code::kE0604, absl::StrCat("the plan file `", path, "` is for ",
                                         Plural(plan->mesh.rank_count(), "device"), ", not ", *options.devices))
            .Help("leave `--devices` out, or search for a new plan"));
    return ExitCode::kModelWrong;
  }
  if (!ReadClusterOfPlan(options, *plan, compilation)) return ExitCode::kModelWrong;
  LeaveOutTf32(options, compilation.module->training, *compilation.cluster);
  compilation.plan = *std::move(plan);
  return ExitCode::kDone;
}

// A search that ended without a plan: the model asks for what is wrong, or for less memory than any plan needs.
ExitCode NoPlan(const Diagnostics& diagnostics) {
  const std::vector<Diagnostic>& items = diagnostics.items();
  const bool too_large =
      std::any_of(items.begin(), items.end(), [](const Diagnostic& item) { return item.code == Code::kE0313; });
  return too_large ? ExitCode::kNoPlanFits : ExitCode::kModelWrong;
}

}  // namespace

ExitCode ReadModel(const CompileOptions& options, Compilation& compilation) {
  const std::optional<FileId> file = LoadSource(options.model, compilation.sources, compilation.diagnostics);
  if (!file.has_value()) return ExitCode::kModelWrong;
  compilation.syntax = Parse(*file, compilation.sources, compilation.diagnostics);
  return compilation.syntax.has_value() ? ExitCode::kDone : ExitCode::kModelWrong;
}

ExitCode Understand(const CompileOptions& options, Compilation& compilation) {
  std::optional<DeviceCounts> devices = CountDevices(ClusterOfOptions(options), compilation.diagnostics);
  if (!devices.has_value()) return ExitCode::kModelWrong;
  if (options.cluster.empty()) devices->otherwise = 1;
  compilation.module = Analyze(*compilation.syntax, compilation.sources,
                               {.overrides = options.overrides,
                                .devices = devices->given,
                                .default_devices = devices->otherwise,
                                .target = options.target,
                                .override_folder = "."},
                               compilation.diagnostics);
  if (!compilation.module.has_value()) return ExitCode::kModelWrong;
  if (!CheckRegionDevices(compilation.module->pins, options.target, compilation.diagnostics)) {
    return ExitCode::kModelWrong;
  }
  ApplyOptions(options, *compilation.module);
  if (!CheckFiles(*compilation.module, compilation.diagnostics)) return ExitCode::kModelWrong;
  ResolvePaths(options, compilation.module->training);
  absl::StatusOr<Graph> training = Differentiate(compilation.module->graph, compilation.module->training.optimizer);
  if (!training.ok()) {
    if (!absl::IsInvalidArgument(training.status())) return Bug("differentiate", training.status().message());
    compilation.diagnostics.Add(Error(Code::kE0605, std::string(training.status().message())));
    return ExitCode::kModelWrong;
  }
  const Precision precision = compilation.module->training.precision;
  CheckPrecision(*compilation.module, options.target, compilation.diagnostics);
  Lowered lowered = ApplyPrecision(*training, precision);
  compilation.module->pins = MovePins(std::move(compilation.module->pins), lowered);
  compilation.training_graph = std::move(lowered.graph);
  for (const std::string& error : VerifyGraph(compilation.training_graph)) return Bug("the training graph", error);
  return ExitCode::kDone;
}

ExitCode MakePlan(const CompileOptions& options, Compilation& compilation) {
  compilation.fuse = options.target == "cuda" ? FusedByCuda() : FusedByCpu();
  if (!options.plan_file.empty()) return ReadPlanFile(options, compilation);
  const Pins& pins = compilation.module->pins;
  compilation.cluster = ClusterAskedFor(options, pins.settings, compilation.diagnostics);
  if (!compilation.cluster.has_value()) return ExitCode::kModelWrong;
  LeaveOutTf32(options, compilation.module->training, *compilation.cluster);
  SearchOptions search = OptionsFrom(pins.settings);
  search.fuse = compilation.fuse;
  compilation.plan =
      Search(compilation.training_graph, *compilation.cluster, pins, search, compilation.diagnostics);
  if (!compilation.plan.has_value()) return NoPlan(compilation.diagnostics);
  for (const std::string& error : VerifyPlan(compilation.training_graph, *compilation.plan)) {
    return Bug("search", error);
  }
  return ExitCode::kDone;
}

ExitCode Split(Compilation& compilation) {
  absl::StatusOr<Distributed> distributed = Distribute(compilation.training_graph, *compilation.plan);
  if (!distributed.ok()) return Bug("distribute", distributed.status().message());
  compilation.distributed = *std::move(distributed);
  absl::StatusOr<Program> program = Partition(compilation.distributed.graph, compilation.distributed.plan);
  if (!program.ok()) return Bug("partition", program.status().message());
  compilation.program = *std::move(program);
  for (const std::string& finding : CheckStatically(compilation.program)) {
    return Bug("partition (static proof)", finding);
  }
  return ExitCode::kDone;
}

ExitCode Prove(Compilation& compilation) {
  if (compilation.training_graph.is_manual()) {
    const absl::StatusOr<ManualReport> proof = CheckManual(
        compilation.training_graph, compilation.module->training.optimizer, compilation.program);
    if (!proof.ok()) return Bug("the manual program (simulated proof)", proof.status().message());
    compilation.manual_proof = *proof;
    return ExitCode::kDone;
  }
  const absl::StatusOr<SimulationReport> proof =
      CheckBySimulation(compilation.training_graph, compilation.distributed, compilation.program);
  if (!proof.ok()) return Bug("partition (simulated proof)", proof.status().message());
  compilation.proof = *proof;
  return ExitCode::kDone;
}

}  // namespace cleave
