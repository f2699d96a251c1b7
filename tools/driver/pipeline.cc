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
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/join_attention/join_attention.h"
#include "ir/transforms/pool_first/pool_first.h"
#include "ir/transforms/precision/precision.h"
#include "ir/transforms/quantize/quantize.h"
#include "ir/transforms/zigzag/zigzag.h"
#include "search/chunks.h"
#include "search/knobs/memory/memory.h"
#include "search/search.h"
#include "tools/driver/attention_check.h"
#include "tools/driver/choose_cluster.h"
#include "tools/driver/config_check.h"
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
#include "tools/driver/zigzag.h"

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
  search::Execution execution{.fuse = is_cuda ? codegen::FusedByCuda(training.precision) : codegen::FusedByCpu(),
                              .overlaps = is_cuda};
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

std::optional<Proof> Prove(const UnderstoodModel& model, bool in_zigzag, const ir::LoweredProgram& split,
                           Report& report) {
  if (model.training_graph.is_manual()) {
    const absl::StatusOr<ir::ManualReport> proof = ir::CheckManual(model.training_graph, split.program);
    if (!proof.ok()) return Bug("the manual program (simulated proof)", proof.status().message(), report);
    return *proof;
  }
  const absl::StatusOr<ir::SimulationReport> proof =
      ir::CheckBySimulation(model.training_graph, split.distributed, split.program, {.in_zigzag = in_zigzag});
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

// The model with its training graph. The pins of `module` are those of its forward graph.
std::optional<UnderstoodModel> WithTrainingGraph(const CompileOptions& options, FileId file, search::Machines machines,
                                                 frontend::Module module, Report& report) {
  Diagnostics& diagnostics = report.diagnostics;
  const absl::StatusOr<ir::Graph> training =
      options.mode == ir::Mode::kTrain ? ir::Differentiate(module.graph, module.updates) : module.graph;
  if (!training.ok()) {
    const absl::Status& status = training.status();
    if (!absl::IsInvalidArgument(status) && !absl::IsNotFound(status))
      return Bug("differentiate", status.message(), report);
    const std::string message(status.message());
    diagnostics.Add(absl::IsNotFound(status)
                        ? Error(Code::kE0611, message).At(PlaceOfLook(status, file, report.sources), "")
                        : Error(Code::kE0605, message));
    return std::nullopt;
  }
  if (!CheckOffload(module.pins, options.target, diagnostics)) return std::nullopt;
  if (!CheckPrecision(module, options.target, machines.host.peak, diagnostics)) return std::nullopt;
  ir::Lowered lowered = ir::ApplyPrecision(*training, module.training.precision, module.training.kept_weights);
  if (!CheckMultipliesIn8Bits(module, lowered.graph, diagnostics)) return std::nullopt;
  lowered.graph.sums = module.pins.settings.sums;
  ir::Pins forward_pins = module.pins;
  module.pins = ir::MovePins(std::move(module.pins), lowered);
  if (!WatchValues(options.watch, lowered.graph, diagnostics)) return std::nullopt;
  for (const std::string& error : ir::VerifyGraph(lowered.graph)) return Bug("the training graph", error, report);
  return UnderstoodModel{.file = file,
                         .machines = std::move(machines),
                         .module = std::move(module),
                         .forward_pins = std::move(forward_pins),
                         .training_graph = std::move(lowered.graph)};
}

// The model with the rows of its sequences in so many pairs. What it says of the model has been said before.
std::optional<UnderstoodModel> InZigzag(const CompileOptions& options, const UnderstoodModel& model, int64_t pairs,
                                        Report& report) {
  frontend::Module module = model.module;
  module.pins = model.forward_pins;
  module.graph = ir::WithZigzag(model.module.graph, pairs, module.pins);
  if (const std::string change = ir::FindOtherChange(model.module.graph, module.graph); !change.empty())
    return Bug("zigzag", change, report);
  Report again{.sources = std::move(report.sources), .diagnostics = {}};
  std::optional<UnderstoodModel> changed =
      WithTrainingGraph(options, model.file, model.machines, std::move(module), again);
  report.sources = std::move(again.sources);
  if (!changed.has_value() && again.bug.empty()) return Bug("zigzag", "the model has no training graph now", report);
  report.bug = again.bug;
  return changed;
}

std::optional<Planning> Search(const CompileOptions& options, const UnderstoodModel& model,
                               const search::Cluster& cluster, Diagnostics& diagnostics) {
  const ir::Pins& pins = model.module.pins;
  search::SearchOptions search = search::OptionsFrom(pins.settings);
  search.execution = ExecutionOn(options.target, model.module.training);
  std::optional<search::Found> found =
      search::SearchWithChunks(model.training_graph, cluster, pins, search, diagnostics);
  if (!found.has_value()) return std::nullopt;
  return Planning{.planned = {.cluster = cluster, .plan = std::move(found->plan)},
                  .program = std::move(found->program)};
}

// The predicted step, of the plan's program, which is made where there is none; nullopt after a bug.
std::optional<Seconds> StepOf(const CompileOptions& options, const UnderstoodModel& model, Planning& planning,
                              Report& report) {
  const search::Execution execution = ExecutionOn(options.target, model.module.training);
  const PlannedModel& planned = planning.planned;
  if (!planning.program.has_value()) {
    absl::StatusOr<ir::LoweredProgram> made = search::ProgramOf(search::GraphOf(model.training_graph, planned.plan),
                                                                planned.plan, planned.cluster, execution);
    if (!made.ok()) return Bug("partition", made.status().message(), report);
    planning.program = *std::move(made);
  }
  return search::StepOf(*planning.program, planned.cluster, execution);
}

// A plan of the model; where that is faster, or asked for, one with rows in zigzag order, for which `model` is changed.
std::optional<Planning> SearchOrders(const CompileOptions& options, UnderstoodModel& model,
                                     const search::Cluster& cluster, Report& report) {
  const std::optional<int64_t> asked = model.module.pins.settings.zigzag;
  if (asked.value_or(0) > 0 && options.mode == ir::Mode::kTrain) {
    if (!CheckZigzag(model, report.diagnostics)) return std::nullopt;
    std::optional<UnderstoodModel> changed = InZigzag(options, model, *asked, report);
    if (!changed.has_value()) return std::nullopt;
    model = *std::move(changed);
    std::optional<Planning> planning = Search(options, model, cluster, report.diagnostics);
    if (planning.has_value()) TakeZigzag(model.training_graph, *asked, "as asked", planning->planned.plan);
    return planning;
  }
  Diagnostics of_own, of_zigzag;
  std::optional<Planning> own = Search(options, model, cluster, of_own);
  const int64_t pairs = own.has_value() ? PairsWorthTrying(model, options.target, own->planned.plan) : 0;
  if (pairs == 0) {
    report.diagnostics.AddAll(of_own);
    return own;
  }
  std::optional<UnderstoodModel> changed = InZigzag(options, model, pairs, report);
  if (!changed.has_value()) return std::nullopt;
  std::optional<Planning> zigzag = Search(options, *changed, cluster, of_zigzag);
  const std::optional<Seconds> own_step = StepOf(options, model, *own, report);
  const std::optional<Seconds> zigzag_step =
      zigzag.has_value() ? StepOf(options, *changed, *zigzag, report) : std::nullopt;
  if (!own_step.has_value() || !report.bug.empty()) return std::nullopt;
  const bool takes_zigzag = zigzag_step.has_value() && *zigzag_step < *own_step;
  report.diagnostics.AddAll(takes_zigzag ? of_zigzag : of_own);
  if (!takes_zigzag) {
    KeepOwnOrder(model.training_graph, pairs, WhyOwnOrder(*own_step, zigzag_step), own->planned.plan);
    return own;
  }
  model = *std::move(changed);
  TakeZigzag(model.training_graph, pairs, InPlaceOf(*zigzag_step, *own_step), zigzag->planned.plan);
  return zigzag;
}

std::optional<Planning> MakePlan(const CompileOptions& options, UnderstoodModel& model, Report& report) {
  if (!options.plan_file.empty()) {
    std::optional<PlannedModel> read = ReadPlanFile(
        options, model, [&](int64_t pairs) { return InZigzag(options, model, pairs, report); }, report.diagnostics);
    if (!read.has_value()) return std::nullopt;
    return Planning{.planned = *std::move(read), .program = std::nullopt};
  }
  std::optional<search::Cluster> cluster = ChooseCluster(options, model.machines, model.module, report.diagnostics);
  if (!cluster.has_value()) return std::nullopt;
  return SearchOrders(options, model, *cluster, report);
}

}  // namespace

std::optional<dsl::syntax::File> ReadModel(const CompileOptions& options, Report& report) {
  const std::optional<FileId> file = dsl::LoadSource(options.model, report.sources, report.diagnostics);
  return file.has_value() ? dsl::Parse(*file, report.sources, report.diagnostics) : std::nullopt;
}

std::optional<UnderstoodModel> Understand(const CompileOptions& options, const dsl::syntax::File& file, Report& report,
                                          const frontend::OpenTexts* open, frontend::Sightings* sightings) {
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
                                                              .generates = options.mode == ir::Mode::kGenerate,
                                                              .outputs = options.outputs,
                                                              .override_folder = ".",
                                                              .open = open,
                                                              .sightings = sightings},
                                                             diagnostics);
  if (!module.has_value() || !CheckRegionDevices(module->pins, options.target, diagnostics)) return std::nullopt;
  ApplyOptions(options, *module);
  if (options.devices == 1 && options.plan_file.empty()) SetPinsAside(module->pins, diagnostics);
  const bool trains = options.mode == ir::Mode::kTrain;
  if (!trains) {
    ForgetTraining(*module);
    // A tensor's unit would make a sample's result depend on those beside it.
    if (module->training.precision == ir::Precision::kFp8) module->training.precision = ir::Precision::kBf16;
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
  if (!CheckConfig(*module, file.file, report.sources, diagnostics)) return std::nullopt;
  if (module->training.frozen == ir::DType::kI8) {
    module->graph = ir::Quantize(std::move(module->graph), {.trains = trains}, module->pins);
  }
  return WithTrainingGraph(options, file.file, *std::move(machines), *std::move(module), report);
}

std::optional<CompiledModel> CompileModel(const CompileOptions& options, UnderstoodModel model, Report& report) {
  if (!CheckMicroBatches(model, report.sources, report.diagnostics)) return std::nullopt;
  std::optional<Planning> planning = MakePlan(options, model, report);
  if (!planning.has_value()) return std::nullopt;
  PlannedModel& planned = planning->planned;
  model.training_graph = search::GraphOf(model.training_graph, planned.plan);
  for (const std::string& error : ir::VerifyPlan(model.training_graph, planned.plan))
    return Bug("search", error, report);
  if (!CheckRankTable(options.rank_table, planned.plan.mesh.rank_count(), report.diagnostics)) return std::nullopt;
  const search::Execution execution = ExecutionOn(options.target, model.module.training);
  std::optional<ir::LoweredProgram> split = Split(model, *planning, execution, report);
  if (!split.has_value()) return std::nullopt;
  if (MakesSources(options) && !CheckElementLimit(*split, model.file, report.sources, report.diagnostics))
    return std::nullopt;
  std::optional<Proof> proof = NotSimulated();
  if (MakesCode(options)) proof = Prove(model, planned.plan.zigzag > 0, *split, report);
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
