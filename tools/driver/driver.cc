#include "tools/driver/driver.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "codegen/codegen.h"
#include "dsl/syntax/print.h"
#include "ir/graph/text.h"
#include "ir/plan/plan_json.h"
#include "ir/program/redistributions.h"
#include "ir/program/text.h"
#include "ir/strategy/strategy.h"
#include "runtime/error/error.h"
#include "runtime/placement/rank_table.h"
#include "search/explain/explain.h"
#include "tools/driver/element_limit.h"
#include "tools/driver/launch.h"
#include "tools/driver/output.h"
#include "tools/driver/pipeline.h"
#include "tools/driver/summary.h"
#include "tools/driver/usage.h"

namespace cleave {
namespace {

void PrintDiagnostics(const CompileOptions& options, const Compilation& compilation) {
  if (options.error_format == ErrorFormat::kText) {
    std::cerr << RenderText(compilation.diagnostics, compilation.sources);
    return;
  }
  for (const Diagnostic& diagnostic : compilation.diagnostics.items()) {
    std::cerr << RenderJson(diagnostic, compilation.sources) << "\n";
  }
}

std::string OutputFolder(const CompileOptions& options) {
  if (!options.out.empty()) return options.out;
  return absl::StrCat("out/", std::filesystem::path(options.model).stem().string());
}

std::string PlanText(const Compilation& compilation) {
  const Explained explained = ExplainedOf(compilation);
  return PlanJson(compilation.training_graph, *compilation.plan, compilation.program,
                  {.predicted_compute = explained.predicted.compute,
                   .predicted_communication = explained.predicted.communication,
                   .sent_bytes_per_rank = explained.predicted.sent_bytes_per_rank,
                   .memory = explained.memory,
                   .warnings = &compilation.diagnostics,
                   .sources = &compilation.sources});
}

std::string PlannedGraphText(const Compilation& compilation) {
  const Graph& graph = compilation.distributed.graph;
  const Plan& plan = compilation.distributed.plan;
  return GraphText(graph, [&](const Op& op) {
    const auto in_strategy = InStrategy(plan.ops[op.id].strategy, RuleOf(graph, op), plan.mesh);
    return in_strategy.empty() ? std::string() : absl::StrCat(" in_strategy", InStrategyText(in_strategy));
  });
}

ExitCode BadUsage(const CompileOptions& options, const std::string& message) {
  std::cerr << UsageErrorText(options.error_format, message, "");
  return ExitCode::kUsage;
}

absl::StatusOr<std::vector<GeneratedFile>> Generate(const CompileOptions& options, const Compilation& compilation,
                                                    const CodegenOptions& how) {
  const auto generate = options.target == "cuda" ? GenerateCuda : GenerateCpu;
  return generate(compilation.distributed.graph, compilation.program, compilation.module->training, how);
}

ExitCode Emit(const CompileOptions& options, Compilation& compilation) {
  const int rank = options.rank.value_or(0);
  if (*options.emit == EmitStage::kProgram || *options.emit == EmitStage::kSource) {
    const int last = compilation.plan->mesh.rank_count() - 1;
    if (rank > last) return BadUsage(options, absl::StrCat("--rank: the plan has ranks 0 to ", last, ", not ", rank));
  }
  switch (*options.emit) {
    case EmitStage::kAst:
      std::cout << syntax::PrintTree(*compilation.syntax);
      return ExitCode::kDone;
    case EmitStage::kGraph:
      std::cout << GraphText(compilation.training_graph);
      return ExitCode::kDone;
    case EmitStage::kPlan:
      std::cout << PlanText(compilation);
      return ExitCode::kDone;
    case EmitStage::kProgram:
      std::cout << ProgramText(compilation.program, rank);
      return ExitCode::kDone;
    case EmitStage::kSource: {
      const absl::StatusOr<std::vector<GeneratedFile>> files =
          Generate(options, compilation, {.rank = options.rank, .launch = {}});
      if (!files.ok()) {
        std::cerr << "internal error in codegen: " << files.status().message() << "\n";
        return ExitCode::kInternal;
      }
      for (const GeneratedFile& file : *files) {
        if (absl::StartsWith(file.path, "program.")) std::cout << file.text;
      }
      return ExitCode::kDone;
    }
  }
  return ExitCode::kInternal;
}

// The exit code and diagnostic for a folder that cannot be written.
ExitCode OutputFailure(const absl::Status& status, Compilation& compilation) {
  if (absl::IsFailedPrecondition(status)) {
    compilation.diagnostics.Add(
        Error(Code::kE0601, std::string(status.message())).Help("name another folder with `--out`, or empty this one"));
  } else {
    compilation.diagnostics.Add(Error(Code::kE0602, std::string(status.message())));
  }
  return ExitCode::kEnvironment;
}

LaunchDefault LaunchOf(const CompileOptions& options) {
  if (options.rank_table.empty()) return {.way = options.launch, .rank_table = ""};
  const std::filesystem::path table = std::filesystem::absolute(options.rank_table);
  return {.way = options.launch, .rank_table = table.lexically_normal().string()};
}

// A rank table that the program is to be started by must name as many ranks as the plan has.
ExitCode CheckRankTable(const CompileOptions& options, Compilation& compilation) {
  if (options.rank_table.empty()) return ExitCode::kDone;
  const runtime::Result<runtime::RankTable> table = runtime::ReadRankTable(options.rank_table);
  if (!table.ok()) {
    compilation.diagnostics.Add(Error(Code::kE0609, table.error().message));
    return ExitCode::kModelWrong;
  }
  const int named = static_cast<int>(table.value().ranks.size());
  const int planned = compilation.plan->mesh.rank_count();
  if (named == planned) return ExitCode::kDone;
  const std::string difference = absl::StrCat("the plan has ", Plural(planned, "rank"), " and the rank table `",
                                              options.rank_table, "` names ", named);
  compilation.diagnostics.Add(
      Error(Code::kE0609, difference).Help(absl::StrCat("compile the model with `--devices ", named, "`")));
  return ExitCode::kModelWrong;
}

ExitCode Write(const std::string& folder, const CompileOptions& options, Compilation& compilation) {
  absl::StatusOr<std::vector<GeneratedFile>> generated =
      Generate(options, compilation, {.rank = std::nullopt, .launch = LaunchOf(options)});
  if (!generated.ok()) {
    std::cerr << "internal error in codegen: " << generated.status().message() << "\n";
    return ExitCode::kInternal;
  }
  std::vector<OutputFile> files;
  for (GeneratedFile& file : *generated) {
    files.push_back({.path = std::move(file.path), .text = std::move(file.text), .executable = file.executable});
  }
  for (const auto& [path, text] : compilation.module->custom_files) files.push_back({.path = path, .text = text});
  files.push_back({.path = "plan.json", .text = PlanText(compilation)});
  files.push_back({.path = "redistributions.txt", .text = RedistributionsText(compilation.program)});
  const std::string graph = PlannedGraphText(compilation);
  for (int rank = 0; rank < compilation.plan->mesh.rank_count(); ++rank) {
    files.push_back({.path = absl::StrCat("rank_", rank, "/graph.ir"), .text = graph});
    files.push_back(
        {.path = absl::StrCat("rank_", rank, "/program.ir"), .text = ProgramText(compilation.program, rank)});
  }
  const absl::Status written = WriteOutput(folder, files);
  return written.ok() ? ExitCode::kDone : OutputFailure(written, compilation);
}

ExitCode MissingHere(const absl::Status& status, const CompileOptions& options, Compilation& compilation) {
  compilation.diagnostics.Add(Error(Code::kE0603, std::string(status.message()))
                                  .Help(options.target == "cuda"
                                            ? "the sources are written: build and start them where a GPU is"
                                            : "`./bazelw` installs what is missing on Debian"));
  return ExitCode::kEnvironment;
}

ExitCode BuildAndStart(const std::string& folder, const CompileOptions& options, Compilation& compilation) {
  const absl::Status possible = CanBuildAndRun(options.target, options.launch);
  if (!possible.ok()) return MissingHere(possible, options, compilation);
  const absl::StatusOr<LaunchResult> result = BuildAndRun(folder, options.launch);
  if (!result.ok()) return MissingHere(result.status(), options, compilation);
  if (result->exit_code == 0) return ExitCode::kDone;
  if (result->failed_step == "make") {
    std::cerr << "internal error: the generated program does not build (exit code " << result->exit_code << ")\n";
    return ExitCode::kInternal;
  }
  // The program's own codes pass through, so that a script sees why it ended.
  return static_cast<ExitCode>(result->exit_code);
}

ExitCode Explain(const CompileOptions& options, const Compilation& compilation) {
  const Explained explained = ExplainedOf(compilation);
  if (options.explain->empty()) {
    std::cout << ExplainPlan(explained);
    return ExitCode::kDone;
  }
  const absl::StatusOr<std::string> text = ExplainOp(explained, *options.explain);
  if (!text.ok()) return BadUsage(options, absl::StrCat("--explain: ", text.status().message()));
  std::cout << *text;
  return ExitCode::kDone;
}

// Whether anything is made that could run: only that has to be proven by simulation.
bool MakesCode(const CompileOptions& options) {
  if (options.plan_only) return false;
  return options.emit != EmitStage::kPlan;
}

// Whether sources are generated, for which pieces have a largest size.
bool MakesSources(const CompileOptions& options) { return MakesCode(options) && options.emit != EmitStage::kProgram; }

// Everything up to the point where a program is to be written.
ExitCode Prepare(const CompileOptions& options, Compilation& compilation) {
  if (const ExitCode code = ReadModel(options, compilation); code != ExitCode::kDone) return code;
  if (options.emit == EmitStage::kAst) return ExitCode::kDone;
  if (const ExitCode code = Understand(options, compilation); code != ExitCode::kDone) return code;
  if (options.emit == EmitStage::kGraph) return ExitCode::kDone;
  if (const ExitCode code = MakePlan(options, compilation); code != ExitCode::kDone) return code;
  if (const ExitCode code = CheckRankTable(options, compilation); code != ExitCode::kDone) return code;
  if (const ExitCode code = Split(compilation); code != ExitCode::kDone) return code;
  if (MakesSources(options)) {
    if (const ExitCode code = CheckElementLimit(compilation); code != ExitCode::kDone) return code;
  }
  return MakesCode(options) ? Prove(compilation) : ExitCode::kDone;
}

ExitCode Compile(const CompileOptions& options, Compilation& compilation) {
  const auto start = std::chrono::steady_clock::now();
  const std::string folder = OutputFolder(options);
  const bool writes = !options.emit.has_value() && !options.plan_only;
  if (writes) {
    if (const absl::Status ours = CheckOutputFolder(folder); !ours.ok()) return OutputFailure(ours, compilation);
  }
  if (const ExitCode code = Prepare(options, compilation); code != ExitCode::kDone) return code;
  if (options.emit.has_value()) return Emit(options, compilation);
  if (options.explain.has_value()) {
    if (const ExitCode code = Explain(options, compilation); code != ExitCode::kDone) return code;
  }
  if (options.log_redistributions) std::cout << RedistributionsText(compilation.program);
  if (writes) {
    if (const ExitCode code = Write(folder, options, compilation); code != ExitCode::kDone) return code;
  }
  if (!options.quiet) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cout << Summary(options, compilation, Seconds(seconds));
    if (writes)
      std::cout << "written to " << folder << (options.run ? "" : "; build and start it with `make && ./run.sh` there")
                << "\n";
    std::cout.flush();
  }
  if (options.run && writes) {
    // Warnings come before what the program prints.
    PrintDiagnostics(options, compilation);
    compilation.diagnostics = Diagnostics();
    return BuildAndStart(folder, options, compilation);
  }
  return ExitCode::kDone;
}

}  // namespace

ExitCode RunCompiler(const CompileOptions& options) {
  Compilation compilation;
  const ExitCode code = Compile(options, compilation);
  PrintDiagnostics(options, compilation);
  return code;
}

}  // namespace cleave
