#include "tools/driver/pipeline.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "codegen/codegen.h"
#include "dsl/parse/parse.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/graph/sliced_losses/sliced_losses.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/join_attention/join_attention.h"
#include "ir/transforms/pool_first/pool_first.h"
#include "ir/transforms/precision/precision.h"
#include "ir/transforms/quantize/quantize.h"
#include "search/knobs/memory/memory.h"
#include "search/search.h"
#include "search/slices.h"
#include "tools/driver/attention_check.h"
#include "tools/driver/choose_cluster.h"
#include "tools/driver/data_check.h"
#include "tools/driver/element_limit.h"
#include "tools/driver/generation.h"
#include "tools/driver/micro_batches.h"
#include "tools/driver/module_settings.h"
#include "tools/driver/outputs.h"
#include "tools/driver/plan_file.h"
#include "tools/driver/rank_table_check.h"
#include "tools/driver/target_check.h"
#include "tools/driver/watch.h"

namespace cleave::tools {
namespace {

std::nullopt_t Bug(absl::string_view stage, absl::string_view what, Report& report) {
  report.bug = BugText(stage, what);
  return std::nullopt;
}

// Whether anything is made that could run. Only then is the program proven by simulation.
bool MakesCode(const CompileOptions& options) {
  return !options.plan_only && options.emit != EmitStage::kGraph && options.emit != EmitStage::kPlan;
}

// Whether sources are generated, in which a rank counts elements in 32 bits.
bool MakesSources(const CompileOptions& options) { return MakesCode(options) && options.emit != EmitStage::kProgram; }

search::Execution ExecutionOn(const std::string& target, const ir::Training& training) {
  const bool is_cuda = target == "cuda";
  search::Execution execution{.fuse = is_cuda ? codegen::FusedByCuda() : codegen::FusedByCpu(), .overlaps = is_cuda};
  if (training.checkpoint_every > 0 && training.mode == ir::Mode::kTrain) {
    execution.checkpoint = is_cuda ? ir::CheckpointCopy::kOnHost : ir::CheckpointCopy::kBesideValues;
  }
  return execution;
}

int64_t LargestAttentionHeadOn(const std::string& target) {
  return target == "cuda" ? codegen::LargestAttentionHeadOnCuda() : codegen::LargestAttentionHeadOnCpu();
}

// A plan, and its program where the search made it.
struct Planning {
  PlannedModel planned;
  std::optional<ir::LoweredProgram> program;
};

std::optional<Planning> MakePlan(const CompileOptions& options, const UnderstoodModel& model, Report& report) {
  if (!options.plan_file.empty()) {
    std::optional<PlannedModel> read = ReadPlanFile(options, model, report.diagnostics);
    if (!read.has_value()) return std::nullopt;
    return Planning{.planned = *std::move(read), .program = std::nullopt};
  }
  const ir::Pins& pins = model.module.pins;
  std::optional<search::Cluster> cluster = ChooseCluster(options, model.machines, model.module, report.diagnostics);
  if (!cluster.has_value()) return std::nullopt;
  search::SearchOptions search = search::OptionsFrom(pins.settings);
  search.execution = ExecutionOn(options.target, model.module.training);
  std::optional<search::Found> found =
      search::SearchWithSlices(model.training_graph, *cluster, pins, search, report.diagnostics);
  if (!found.has_value()) return std::nullopt;
  return Planning{.planned = {.cluster = *std::move(cluster), .plan = std::move(found->plan)},
                  .program = std::move(found->program)};
}

std::optional<ir::LoweredProgram> Split(const UnderstoodModel& model, Planning& planning,
                                        const search::Execution& execution, Report& report) {
  if (!planning.program.has_value()) {
    const ir::Plan& plan = planning.planned.plan;
    if (!CheckMicroBatches(model, plan, report.sources, report.diagnostics)) return std::nullopt;
    absl::StatusOr<ir::LoweredProgram> made =
        search::ProgramOf(model.training_graph, plan, planning.planned.cluster, execution);
    if (!made.ok()) return Bug("partition", made.status().message(), report);
    planning.program = *std::move(made);
  }
  for (const std::string& finding : ir::CheckStatically(planning.program->program))
    return Bug("partition (static proof)", finding, report);
  return std::move(planning.program);
}

std::optional<Proof> Prove(const UnderstoodModel& model, const ir::LoweredProgram& split, Report& report) {
  if (model.training_graph.is_manual()) {
    const absl::StatusOr<ir::ManualReport> proof = ir::CheckManual(model.training_graph, split.program);
    if (!proof.ok()) return Bug("the manual program (simulated proof)", proof.status().message(), report);
    return *proof;
  }
  const absl::StatusOr<ir::SimulationReport> proof =
      ir::CheckBySimulation(model.training_graph, split.distributed, split.program);
  if (!proof.ok()) return Bug("partition (simulated proof)", proof.status().message(), report);
  if (proof->too_large.has_value()) {
    const ir::Op& op = split.distributed.graph.op(proof->too_large->op);
    AddTooLarge(*proof->too_large, op, model.file, report.sources, report.diagnostics);
    return std::nullopt;
  }
  return *proof;
}

// The line of the model that looks at what is not there.
Span PlaceOfLook(const absl::Status& status, FileId file, const SourceSet& sources) {
  const auto line = status.GetPayload(ir::kLineOfLook);
  int number = 0;
  if (!line.has_value() || !absl::SimpleAtoi(std::string(*line), &number) || number < 1) return {};
  return sources.file(file).SpanOfLine(file, number);
}

}  // namespace

std::optional<dsl::syntax::File> ReadModel(const CompileOptions& options, Report& report) {
  const std::optional<FileId> file = dsl::LoadSource(options.model, report.sources, report.diagnostics);
  return file.has_value() ? dsl::Parse(*file, report.sources, report.diagnostics) : std::nullopt;
}

std::optional<UnderstoodModel> Understand(const CompileOptions& options, const dsl::syntax::File& file,
                                          Report& report) {
  Diagnostics& diagnostics = report.diagnostics;
  std::optional<search::Machines> machines = MachinesAskedFor(options, diagnostics);
  if (!machines.has_value()) return std::nullopt;
  const search::DeviceCounts devices = DevicesAskedFor(options, *machines);
  Overrides overrides = options.overrides;
  const int64_t slots = options.mode == ir::Mode::kGenerate ? TakeSlots(file, overrides) : 0;
  std::optional<frontend::Module> module = frontend::Analyze(file, report.sources,
                                                             {.overrides = std::move(overrides),
                                                              .devices = devices.given,
                                                              .default_devices = devices.otherwise,
                                                              .target = options.target,
                                                              .outputs = options.outputs,
                                                              .override_folder = "."},
                                                             diagnostics);
  if (!module.has_value() || !CheckRegionDevices(module->pins, options.target, diagnostics)) return std::nullopt;
  ApplyOptions(options, *module);
  if (options.devices == 1 && options.plan_file.empty()) SetPinsAside(module->pins, diagnostics);
  const bool trains = options.mode == ir::Mode::kTrain;
  if (!trains) {
    ForgetTraining(*module);
    module->pins.settings.stages = 1;
    module->pins.stages.clear();
  }
  if (options.mode == ir::Mode::kPredict && !KeepOutputs(options.outputs, *module, diagnostics)) return std::nullopt;
  if (options.mode == ir::Mode::kGenerate && !MakeGeneration(options, slots, file.file, *module, report))
    return std::nullopt;
  if (!CheckData(*module, MakesSources(options), diagnostics)) return std::nullopt;
  ResolvePaths(options.model, module->training);
  module->graph = ir::PoolFirst(std::move(module->graph), module->pins);
  const ir::JoinAttentionOptions joining = {.largest_head = LargestAttentionHeadOn(options.target), .trains = trains};
  module->graph = ir::JoinAttention(std::move(module->graph), joining, module->pins);
  CheckAttention(module->graph, joining, module->pins, module->training.precision, machines->host, file.file,
                 report.sources, diagnostics);
  if (module->training.frozen == ir::DType::kI8) {
    module->graph = ir::Quantize(std::move(module->graph), {.trains = trains}, module->pins);
  }
  const absl::StatusOr<ir::Graph> training = trains ? ir::Differentiate(module->graph, module->updates) : module->graph;
  if (!training.ok()) {
    const absl::Status& status = training.status();
    if (!absl::IsInvalidArgument(status) && !absl::IsNotFound(status))
      return Bug("differentiate", status.message(), report);
    const std::string message(status.message());
    diagnostics.Add(absl::IsNotFound(status)
                        ? Error(Code::kE0611, message).At(PlaceOfLook(status, file.file, report.sources), "")
                        : Error(Code::kE0605, message));
    return std::nullopt;
  }
  if (!CheckOffload(module->pins, options.target, diagnostics)) return std::nullopt;
  CheckPrecision(*module, options.target, diagnostics);
  ir::Lowered lowered = ir::ApplyPrecision(*training, module->training.precision);
  lowered.graph.sums = module->pins.settings.sums;
  module->pins = ir::MovePins(std::move(module->pins), lowered);
  if (!WatchValues(options.watch, lowered.graph, diagnostics)) return std::nullopt;
  for (const std::string& error : ir::VerifyGraph(lowered.graph)) return Bug("the training graph", error, report);
  return UnderstoodModel{.file = file.file,
                         .machines = *std::move(machines),
                         .module = *std::move(module),
                         .training_graph = std::move(lowered.graph)};
}

std::optional<CompiledModel> CompileModel(const CompileOptions& options, UnderstoodModel model, Report& report) {
  if (!CheckMicroBatches(model, report.sources, report.diagnostics)) return std::nullopt;
  std::optional<Planning> planning = MakePlan(options, model, report);
  if (!planning.has_value()) return std::nullopt;
  PlannedModel& planned = planning->planned;
  model.training_graph = ir::WithParts(std::move(model.training_graph), ir::LossParts(planned.plan));
  model.training_graph = ir::WithRowUpdates(std::move(model.training_graph), ir::GradientsByRows(planned.plan));
  for (const std::string& error : ir::VerifyPlan(model.training_graph, planned.plan))
    return Bug("search", error, report);
  if (!CheckRankTable(options.rank_table, planned.plan.mesh.rank_count(), report.diagnostics)) return std::nullopt;
  const search::Execution execution = ExecutionOn(options.target, model.module.training);
  std::optional<ir::LoweredProgram> split = Split(model, *planning, execution, report);
  if (!split.has_value()) return std::nullopt;
  if (MakesSources(options) && !CheckElementLimit(*split, model.file, report.sources, report.diagnostics))
    return std::nullopt;
  std::optional<Proof> proof = NotSimulated();
  if (MakesCode(options)) proof = Prove(model, *split, report);
  if (!proof.has_value()) return std::nullopt;
  search::StepPrediction predicted = search::PredictStep(*split, planned.cluster, execution);
  return CompiledModel{.model = std::move(model),
                       .planned = std::move(planned),
                       .split = *std::move(split),
                       .execution = execution,
                       .predicted = predicted.whole,
                       .pipeline = std::move(predicted.pipeline),
                       .proof = *std::move(proof)};
}

}  // namespace cleave::tools
