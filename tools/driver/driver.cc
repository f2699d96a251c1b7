#include "tools/driver/driver.h"

#include <chrono>
#include <deque>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "codegen/codegen.h"
#include "dsl/syntax/print.h"
#include "ir/graph/text.h"
#include "ir/program/plan_json/plan_json.h"
#include "ir/program/redistributions.h"
#include "ir/program/text.h"
#include "ir/sharding/strategy/strategy.h"
#include "search/explain/explain.h"
#include "search/explain/ledger.h"
#include "search/price/cost/communicators.h"
#include "tools/command_line/usage.h"
#include "tools/contract/contract.h"
#include "tools/driver/body_error.h"
#include "tools/driver/compiled_model.h"
#include "tools/driver/expectations.h"
#include "tools/driver/launch.h"
#include "tools/driver/output.h"
#include "tools/driver/pipeline.h"
#include "tools/driver/rank_files.h"
#include "tools/driver/report.h"
#include "tools/driver/summary.h"
#include "tools/page/page.h"
#include "tools/trace/trace.h"

namespace cleave::tools {
namespace {

using Clock = std::chrono::steady_clock;

// Of `--also`: as many models for fewer ranks, the most first.
using Smaller = std::vector<const CompiledModel*>;

std::string OutputFolder(const CompileOptions& options) {
  if (!options.out.empty()) return options.out;
  return absl::StrCat("out/", std::filesystem::path(options.model).stem().string(),
                      options.mode == ir::Mode::kTrain ? "" : absl::StrCat("_", ir::ModeName(options.mode)));
}

std::string PlanText(const CompiledModel& compiled, const Report& report) {
  return ir::PlanJson(
      compiled.model.training_graph, compiled.planned.plan, compiled.split.program,
      {.predicted_step = compiled.predicted.step,
       .predicted_compute = compiled.predicted.compute,
       .predicted_communication = compiled.predicted.communication,
       .sent_bytes_per_rank = compiled.predicted.sent_bytes_per_rank,
       .memory = compiled.split.memory.use.prediction,
       .communicators = search::CommunicatorMemory(ExplainedOf(compiled).cluster, compiled.split.program),
       .kernels = search::KernelsOfPlan(ExplainedOf(compiled)),
       .warnings = &report.diagnostics,
       .sources = &report.sources});
}

std::string PlannedGraphText(const ir::Distributed& distributed) {
  const ir::Plan& plan = distributed.plan;
  return ir::GraphText(distributed.graph, [&](const ir::Op& op) {
    const auto in_strategy = ir::InStrategy(plan.ops[op.id].strategy, ir::RuleOf(distributed.graph, op), plan.mesh);
    return in_strategy.empty() ? std::string() : absl::StrCat(" in_strategy", ir::InStrategyText(in_strategy));
  });
}

ExitCode BadUsage(const CompileOptions& options, const std::string& message) {
  std::cerr << UsageErrorText(options.error_format, message, "");
  return ExitCode::kUsage;
}

// Of a rank's products in a step, at the peak of its chip.
Seconds TimeAtPeak(const CompiledModel& compiled) {
  return search::LedgerOf(ExplainedOf(compiled), /*rank=*/0).model_at_peak;
}

codegen::CodegenInput CodegenInputOf(const CompiledModel& compiled) {
  return {.graph = compiled.split.distributed.graph,
          .program = compiled.split.program,
          .memory = compiled.split.memory,
          .training = compiled.model.module.training,
          .parts = compiled.split.parts,
          .at_peak = TimeAtPeak(compiled)};
}

// nullopt after an error, which was reported.
std::optional<std::vector<codegen::GeneratedFile>> Generate(const CompileOptions& options,
                                                            const CompiledModel& compiled,
                                                            const codegen::CodegenOptions& how, Report& report) {
  const auto generate = options.target == "cuda" ? codegen::GenerateCuda : codegen::GenerateCpu;
  absl::StatusOr<std::vector<codegen::GeneratedFile>> files = generate(CodegenInputOf(compiled), how);
  if (files.ok()) return *std::move(files);
  report.bug = BugText("codegen", files.status().message());
  return std::nullopt;
}

ExitCode EmitSource(const CompileOptions& options, const CompiledModel& compiled, Report& report) {
  const auto files = Generate(options, compiled, {.rank = options.rank, .launch = {}}, report);
  if (!files.has_value()) return ExitCodeOf(report);
  for (const codegen::GeneratedFile& file : *files) {
    if (absl::StartsWith(file.path, "program.")) std::cout << file.text;
  }
  return ExitCode::kDone;
}

// The rank that `--rank` asks for.
int RankOf(const CompileOptions& options) { return options.rank.value_or(0); }

bool HasRank(const CompiledModel& compiled, const CompileOptions& options) {
  return RankOf(options) < compiled.planned.plan.mesh.rank_count();
}

ExitCode NoSuchRank(const CompiledModel& compiled, const CompileOptions& options) {
  const int last = compiled.planned.plan.mesh.rank_count() - 1;
  return BadUsage(options, absl::StrCat("--rank: the plan has ranks 0 to ", last, ", not ", RankOf(options)));
}

// `stage`: a stage after the plan.
ExitCode Emit(EmitStage stage, const CompileOptions& options, const CompiledModel& compiled, Report& report) {
  if (stage == EmitStage::kPlan || stage == EmitStage::kGraph) {
    std::cout << (stage == EmitStage::kPlan ? PlanText(compiled, report)
                                            : PlannedGraphText(compiled.split.distributed));
    return ExitCode::kDone;
  }
  if (!HasRank(compiled, options)) return NoSuchRank(compiled, options);
  if (stage == EmitStage::kSource) return EmitSource(options, compiled, report);
  std::cout << TextOfRank(compiled.split, RankOf(options));
  return ExitCode::kDone;
}

Diagnostic OutputError(const absl::Status& status) {
  const std::string message(status.message());
  if (!absl::IsFailedPrecondition(status)) return Error(Code::kE0602, message);
  return Error(Code::kE0601, message).Help("name another folder with `--out`, or empty this one");
}

// A page or a trace is one file, so it has another name for what is wrong with its place than a folder.
Diagnostic FileError(const absl::Status& status, absl::string_view option) {
  const std::string message(status.message());
  if (!absl::IsFailedPrecondition(status)) return Error(Code::kE0602, message);
  return Error(Code::kE0601, message).Help(absl::StrCat("name another file with `", option, "`"));
}

codegen::LaunchDefault LaunchOf(const CompileOptions& options) {
  if (options.rank_table.empty()) return {.way = options.launch, .rank_table = ""};
  const std::filesystem::path table = std::filesystem::absolute(options.rank_table);
  return {.way = options.launch, .rank_table = table.lexically_normal().string()};
}

// Adds what a folder says of the plan of the program in it. `folder`: "", or "ranks_4/".
void AddPlanFiles(const std::string& folder, const CompiledModel& compiled, const Report& report,
                  std::vector<OutputFile>& files) {
  const size_t first = files.size();
  files.push_back({.path = "plan.json", .text = PlanText(compiled, report)});
  files.push_back({.path = "redistributions.txt", .text = ir::RedistributionsText(compiled.split.program)});
  for (OutputFile& file : RankFiles(PlannedGraphText(compiled.split.distributed), compiled.split)) {
    files.push_back(std::move(file));
  }
  for (size_t i = first; i < files.size(); ++i) files[i].path.insert(0, folder);
}

std::string FolderOfSmaller(const CompiledModel& compiled) {
  return absl::StrCat(codegen::FolderOfRanks(compiled.planned.plan.mesh.rank_count()), "/");
}

// All files of the output folder; nullopt after reporting why.
std::optional<std::vector<OutputFile>> OutputFiles(const CompileOptions& options, const CompiledModel& compiled,
                                                   const Smaller& smaller, Report& report) {
  codegen::CodegenOptions how{.rank = std::nullopt, .launch = LaunchOf(options)};
  for (const CompiledModel* const one : smaller) how.also.push_back(CodegenInputOf(*one));
  auto generated = Generate(options, compiled, how, report);
  if (!generated.has_value()) return std::nullopt;
  std::vector<OutputFile> files;
  for (codegen::GeneratedFile& file : *generated) {
    files.push_back({.path = std::move(file.path), .text = std::move(file.text), .executable = file.executable});
  }
  for (const auto& [path, file] : compiled.model.module.custom_files) {
    files.push_back({.path = path, .text = file.text});
  }
  AddPlanFiles("", compiled, report, files);
  for (const CompiledModel* const one : smaller) AddPlanFiles(FolderOfSmaller(*one), *one, report, files);
  return files;
}

// Whether the folder was written.
bool Write(const std::string& folder, const CompileOptions& options, const CompiledModel& compiled,
           const Smaller& smaller, Report& report) {
  const std::optional<std::vector<OutputFile>> files = OutputFiles(options, compiled, smaller, report);
  if (!files.has_value()) return false;
  const absl::Status written = WriteOutput(folder, *files);
  if (!written.ok()) report.diagnostics.Add(OutputError(written));
  return written.ok();
}

ExitCode MissingHere(const absl::Status& status, const CompileOptions& options, Report& report) {
  report.diagnostics.Add(
      Error(Code::kE0603, std::string(status.message()))
          .Help(options.target == "cuda"
                    ? "the sources are written: build and start them on a machine with a GPU"
                    : "on Debian, programs need: `apt-get install make g++ libdnnl-dev libjpeg-dev libopenmpi-dev "
                      "libpcre2-dev libpng-dev openmpi-bin zlib1g-dev`"));
  return ExitCodeOf(report);
}

// The user's C++ may be wrong; else the generated program is.
ExitCode BuildFailed(const std::string& folder, const LaunchResult& result, const CompileOptions& options,
                     const frontend::Module& module, Report& report) {
  const std::string path = absl::StrCat(folder, options.target == "cuda" ? "/program.cu" : "/program.cc");
  const absl::StatusOr<std::string> program = ReadFile(path, {.what = "program", .most_bytes = int64_t{64} << 20});
  std::optional<Diagnostic> error = BodyError(
      {.log = result.build_log, .program = program.value_or(""), .bodies = module.custom_files}, report.sources);
  if (!error.has_value()) {
    std::cerr << result.build_log << "internal error: the generated program does not build (exit code "
              << result.exit_code << ")\n";
    return ExitCode::kInternal;
  }
  error->notes.push_back(absl::StrCat("the whole output of the build is in `", folder, "/make.log`"));
  report.diagnostics.Add(*std::move(error));
  return ExitCodeOf(report);
}

ExitCode BuildAndStart(const std::string& folder, const CompileOptions& options, const frontend::Module& module,
                       Report& report) {
  const std::string launch = LaunchWay(options.launch, options.run_arguments);
  const absl::Status possible = CanBuildAndRun(options.target, launch);
  if (!possible.ok()) return MissingHere(possible, options, report);
  const absl::StatusOr<LaunchResult> result = options.build_only
                                                  ? Build(options.target, folder, launch)
                                                  : BuildAndRun(options.target, folder, launch, options.run_arguments);
  if (!result.ok()) return MissingHere(result.status(), options, report);
  if (result->exit_code == 0) return ExitCode::kDone;
  if (result->failed_step == "make") return BuildFailed(folder, *result, options, module, report);
  // The program's own exit codes pass through, so that a script sees why it ended.
  return static_cast<ExitCode>(result->exit_code);
}

// `--explain op:NAME` is about an op whatever its name is.
constexpr absl::string_view kOpPrefix = "op:";

ExitCode Explain(const CompileOptions& options, const CompiledModel& compiled) {
  const search::Explained explained = ExplainedOf(compiled);
  if (options.explain->empty()) {
    std::cout << search::ExplainPlan(explained);
    return ExitCode::kDone;
  }
  if (*options.explain == "memory") {
    std::cout << search::ExplainMemory(explained);
    return ExitCode::kDone;
  }
  if (*options.explain == "plans") {
    std::cout << search::ExplainPlans(explained);
    return ExitCode::kDone;
  }
  if (*options.explain == "time") {
    if (!HasRank(compiled, options)) return NoSuchRank(compiled, options);
    std::cout << search::ExplainTime(explained, RankOf(options));
    return ExitCode::kDone;
  }
  if (*options.explain == "kernels") {
    if (!HasRank(compiled, options)) return NoSuchRank(compiled, options);
    std::cout << search::ExplainKernels(explained, RankOf(options));
    return ExitCode::kDone;
  }
  if (*options.explain == "schedule") {
    if (!compiled.pipeline.has_value()) return BadUsage(options, "--explain schedule: the plan is no pipeline");
    std::cout << search::ExplainSchedule(*compiled.pipeline, compiled.split.parts);
    return ExitCode::kDone;
  }
  const absl::StatusOr<std::string> text = search::ExplainOp(explained, absl::StripPrefix(*options.explain, kOpPrefix));
  if (!text.ok()) return BadUsage(options, absl::StrCat("--explain: ", text.status().message()));
  std::cout << *text;
  return ExitCode::kDone;
}

bool Writes(const CompileOptions& options) { return !options.emit.has_value() && !options.plan_only; }

bool WritesPlan(const CompileOptions& options) { return options.plan_only && !options.out.empty(); }

// Whether plan.json was written.
bool WritePlanAlone(const CompileOptions& options, const CompiledModel& compiled, Report& report) {
  const absl::Status written = WritePlan(options.out, PlanText(compiled, report));
  if (!written.ok()) report.diagnostics.Add(OutputError(written));
  return written.ok();
}

// Whether the page was written.
bool WriteHtml(const CompileOptions& options, const CompiledModel& compiled, Report& report) {
  const search::Explained explained = ExplainedOf(compiled);
  const PageFacts facts{.explained = explained,
                        .pipeline = compiled.pipeline.has_value() ? &*compiled.pipeline : nullptr,
                        .source = report.sources.file(compiled.model.file).text(),
                        .proof = ProofText(compiled.proof),
                        .warnings = &report.diagnostics,
                        .has_others = options.explain == "plans"};
  const absl::Status written = WritePage(*options.html, PlanPage(facts));
  if (!written.ok()) report.diagnostics.Add(FileError(written, "--html"));
  return written.ok();
}

ExitCode WriteTimeline(const CompileOptions& options, const CompiledModel& compiled, Report& report) {
  const search::PipelinePrediction* const pipeline = compiled.pipeline.has_value() ? &*compiled.pipeline : nullptr;
  absl::StatusOr<std::string> trace = PredictedTrace(ExplainedOf(compiled), pipeline);
  if (!options.beside.empty()) trace = WithMeasured(*std::move(trace), options.beside);
  if (!trace.ok()) return BadUsage(options, absl::StrCat("--beside: ", trace.status().message()));
  const absl::Status written = WriteTrace(*options.trace, *trace);
  if (written.ok()) return ExitCode::kDone;
  report.diagnostics.Add(FileError(written, "--trace"));
  return ExitCodeOf(report);
}

// Prints and writes what a finished compile has made. `start` is when it began.
ExitCode PrintAndWrite(const CompileOptions& options, const CompiledModel& compiled, const Smaller& smaller,
                       Clock::time_point start, Report& report) {
  if (options.explain.has_value()) {
    if (const ExitCode code = Explain(options, compiled); code != ExitCode::kDone) return code;
  }
  if (options.log_redistributions) std::cout << ir::RedistributionsText(compiled.split.program);
  const std::string folder = OutputFolder(options);
  if (Writes(options) && !Write(folder, options, compiled, smaller, report)) return ExitCodeOf(report);
  if (WritesPlan(options) && !WritePlanAlone(options, compiled, report)) return ExitCodeOf(report);
  if (options.html.has_value() && !WriteHtml(options, compiled, report)) return ExitCodeOf(report);
  if (options.trace.has_value()) {
    if (const ExitCode code = WriteTimeline(options, compiled, report); code != ExitCode::kDone) return code;
  }
  if (options.quiet) return ExitCode::kDone;
  std::cout << Summary(options, compiled, Seconds(std::chrono::duration<double>(Clock::now() - start).count()));
  for (const CompiledModel* const one : smaller) std::cout << "also " << PlanLine(*one);
  if (Writes(options)) {
    std::cout << "written to " << folder << (options.run ? "" : "; build and start it with `make && ./run.sh` there")
              << "\n";
  }
  if (WritesPlan(options)) std::cout << "written to " << (std::filesystem::path(folder) / "plan.json").string() << "\n";
  for (const auto& file : {options.html, options.trace}) {
    if (file.has_value()) std::cout << "written to " << *file << "\n";
  }
  std::cout.flush();
  return ExitCode::kDone;
}

// The process ends with its model: taking that apart would take a thirtieth of the time of a plan.
const std::optional<CompiledModel>& KeptToTheEnd(std::optional<CompiledModel> compiled) {
  static auto& kept = *new std::deque<std::optional<CompiledModel>>();
  return kept.emplace_back(std::move(compiled));
}

bool HasSaid(const Diagnostics& diagnostics, const Diagnostic& said) {
  return absl::c_any_of(diagnostics.items(),
                        [&](const Diagnostic& one) { return one.code == said.code && one.message == said.message; });
}

// The model for each number of ranks of `--also`; nullopt after reporting why there is none. What has been said of the
// model for most ranks is not said again.
std::optional<Smaller> CompileSmaller(const CompileOptions& options, const dsl::syntax::File& file, Report& report) {
  Smaller smaller;
  for (const int64_t devices : options.also) {
    CompileOptions own = options;
    own.devices = devices;
    own.rank_table.clear();
    Report of_own{.sources = std::move(report.sources), .diagnostics = {}};
    std::optional<UnderstoodModel> model = Understand(own, file, of_own);
    std::optional<CompiledModel> compiled;
    if (model.has_value()) compiled = CompileModel(own, *std::move(model), of_own);
    report.sources = std::move(of_own.sources);
    report.bug = of_own.bug;
    for (Diagnostic diagnostic : of_own.diagnostics.items()) {
      if (diagnostic.severity != Severity::kError && HasSaid(report.diagnostics, diagnostic)) continue;
      diagnostic.notes.push_back(
          absl::StrCat("this is about the program for ", Plural(devices, "rank"), ", which `--also` asks for"));
      report.diagnostics.Add(std::move(diagnostic));
    }
    if (!compiled.has_value()) return std::nullopt;
    smaller.push_back(&*KeptToTheEnd(std::move(compiled)));
  }
  return smaller;
}

// What the plan breaks of a contract.
Diagnostics BrokenBy(const CompiledModel& compiled, const frontend::Contract& contract, const SourceSet& sources) {
  Diagnostics broken;
  CheckContract(contract, ExplainedOf(compiled), compiled.model.file, sources, broken);
  return broken;
}

ExitCode Run(const CompileOptions& options, Report& report) {
  const Clock::time_point start = Clock::now();
  absl::Status ours;
  if (Writes(options)) ours = CheckOutputFolder(OutputFolder(options));
  if (WritesPlan(options)) ours = CheckPlanFolder(options.out);
  if (!ours.ok()) {
    report.diagnostics.Add(OutputError(ours));
    return ExitCodeOf(report);
  }
  if (options.html.has_value()) {
    if (const absl::Status place = CheckPagePlace(*options.html); !place.ok()) {
      report.diagnostics.Add(FileError(place, "--html"));
      return ExitCodeOf(report);
    }
  }
  if (options.trace.has_value()) {
    if (const absl::Status place = CheckTracePlace(*options.trace); !place.ok()) {
      report.diagnostics.Add(FileError(place, "--trace"));
      return ExitCodeOf(report);
    }
  }
  std::optional<frontend::Contract> expected = ReadExpectations(options, report);
  if (!expected.has_value()) return ExitCodeOf(report);
  const std::optional<dsl::syntax::File> file = ReadModel(options, report);
  if (!file.has_value()) return ExitCodeOf(report);
  if (options.emit == EmitStage::kAst) {
    std::cout << dsl::syntax::PrintTree(*file);
    return ExitCode::kDone;
  }
  std::optional<UnderstoodModel> model = Understand(options, *file, report);
  if (!model.has_value()) return ExitCodeOf(report);
  // A search is made only for those who ask for one.
  if (options.emit == EmitStage::kGraph && !options.search.has_value() && options.plan_file.empty()) {
    std::cout << ir::GraphText(model->training_graph);
    return ExitCode::kDone;
  }
  const std::optional<CompiledModel>& compiled = KeptToTheEnd(CompileModel(options, *std::move(model), report));
  if (!compiled.has_value()) return ExitCodeOf(report);
  if (options.emit.has_value()) return Emit(*options.emit, options, *compiled, report);
  const int ranks = compiled->planned.plan.mesh.rank_count();
  if (const std::string mistake = TooManyAlso(options, ranks); !mistake.empty()) return BadUsage(options, mistake);
  const std::optional<Smaller> smaller = CompileSmaller(options, *file, report);
  if (!smaller.has_value()) return ExitCodeOf(report);
  *expected = ExpectationsOf(options, *std::move(expected), compiled->model.module);
  const Diagnostics broken = BrokenBy(*compiled, *expected, report.sources);
  // A plan that is only shown is shown all the same: who reads why it breaks the contract wants to see it.
  ExitCode code = options.plan_only || !broken.has_errors() ? PrintAndWrite(options, *compiled, *smaller, start, report)
                                                            : ExitCode::kDone;
  report.diagnostics.AddAll(broken);
  if (code == ExitCode::kDone && broken.has_errors()) code = ExitCodeOf(report);
  if (code != ExitCode::kDone || !options.run || !Writes(options)) return code;
  // Warnings come before what the program prints.
  std::cerr << ReportText(report, options.error_format);
  report.diagnostics = Diagnostics();
  return BuildAndStart(OutputFolder(options), options, compiled->model.module, report);
}

}  // namespace

ExitCode RunCompiler(const CompileOptions& options) {
  Report report;
  const ExitCode code = Run(options, report);
  std::cerr << ReportText(report, options.error_format);
  return code;
}

ExitCode RunCommandLine(Command command, const std::string& name, const std::string& summary,
                        const std::vector<std::string>& words) {
  const auto parsed = ParseCommandLine(command, name, summary, words);
  const auto* exit = std::get_if<EarlyExit>(&parsed);
  return exit != nullptr ? Print(*exit) : RunCompiler(std::get<CompileOptions>(parsed));
}

}  // namespace cleave::tools
