#include "tests/properties/model_check.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "codegen/codegen.h"
#include "dsl/parse/parse.h"
#include "ir/graph/op_kind/op_kind.h"
#include "ir/graph/training/training.h"
#include "ir/sharding/mesh/mesh.h"
#include "tests/properties/failure.h"
#include "tools/driver/pipeline.h"
#include "tools/driver/report.h"

namespace cleave::tests::properties {
namespace {

constexpr uint64_t kCasesOfABatch = 10;

// The first error, or nothing.
std::string ErrorCode(const tools::Report& report) {
  for (const Diagnostic& diagnostic : report.diagnostics.items()) {
    if (diagnostic.severity == Severity::kError) return std::string(CodeName(diagnostic.code));
  }
  return "";
}

bool HasCustomOps(const ir::Graph& graph) {
  return std::any_of(graph.ops.begin(), graph.ops.end(),
                     [](const ir::Op& op) { return op.kind == ir::OpKind::kCustom; });
}

// What the sources' generators refuse.
std::string GenerationFailure(const tools::CompiledModel& compiled) {
  const codegen::CodegenInput input = {.graph = compiled.split.distributed.graph,
                                       .program = compiled.split.program,
                                       .memory = compiled.split.memory,
                                       .training = compiled.model.module.training};
  const auto files = codegen::GenerateCpu(input);
  return files.ok() ? "" : absl::StrCat("codegen: ", files.status().message());
}

using Overrides = std::vector<std::pair<std::string, std::string>>;

std::optional<tools::CompiledModel> CompileText(const std::string& text, const std::string& folder, Overrides overrides,
                                                tools::Report& report) {
  tools::CompileOptions options;
  options.model = folder + "/random.model";
  options.emit = tools::EmitStage::kProgram;
  options.overrides = std::move(overrides);
  const FileId file = report.sources.Add(options.model, text);
  const std::optional<dsl::syntax::File> syntax = dsl::Parse(file, report.sources, report.diagnostics);
  std::optional<tools::UnderstoodModel> understood;
  if (syntax.has_value()) understood = tools::Understand(options, *syntax, report);
  return understood.has_value() ? tools::CompileModel(options, *std::move(understood), report) : std::nullopt;
}

int64_t PeakOf(const tools::CompiledModel& compiled) { return compiled.split.memory.use.prediction.peak.value(); }

// The model under its limit; nullopt where no plan fits, because of what its own settings ask for.
std::optional<tools::CompiledModel> CompileWithin(const RandomModel& model, const std::string& folder, int64_t most,
                                                  tools::Report& report) {
  tools::Report ignored;
  const std::optional<tools::CompiledModel> full = CompileText(model.text, folder, {{"recompute", "full"}}, ignored);
  const int64_t least = full.has_value() ? std::min(most, PeakOf(*full)) : most;
  const int64_t limit = least + static_cast<int64_t>(*model.memory_share * static_cast<double>(most - least));
  return CompileText(model.text, folder, {{"memory", absl::StrCat(limit, "B")}, {"recompute", "auto"}}, report);
}

}  // namespace

ModelOutcome CheckModel(const RandomModel& model, const std::string& folder) {
  if (!model.header.empty()) std::ofstream(folder + "/random_op.h") << model.header;
  tools::Report report;
  std::optional<tools::CompiledModel> compiled = CompileText(model.text, folder, {}, report);
  if (compiled.has_value() && model.memory_share.has_value()) {
    tools::Report limited;
    std::optional<tools::CompiledModel> thrifty = CompileWithin(model, folder, PeakOf(*compiled), limited);
    if (thrifty.has_value() || !limited.bug.empty() || ErrorCode(limited) != "E0313") {
      compiled = std::move(thrifty);
      report = std::move(limited);
    }
  }
  ModelOutcome outcome;
  const std::string code = ErrorCode(report);
  if (!report.bug.empty()) {
    outcome.failure = report.bug;
  } else if (!compiled.has_value()) {
    // Only what pins and settings ask for may be refused.
    outcome.refused = code;
    if (code < "E03" || code > "E04") {
      outcome.failure =
          absl::StrCat("a valid model is refused: ", tools::ReportText(report, tools::ErrorFormat::kText));
    }
  } else {
    outcome.failure = GenerationFailure(*compiled);
    for (const ir::OpPlan& planned : compiled->planned.plan.ops) {
      if (planned.retention == ir::Retention::kRecompute) outcome.recomputes = true;
    }
    const ir::Graph& graph = compiled->model.training_graph;
    outcome.planned = PlannedGraph{.graph = graph, .plan = compiled->planned.plan};
    if (outcome.failure.empty() && !graph.is_manual() && !HasCustomOps(graph)) {
      outcome.failure = FindFailure(*outcome.planned, {}).value_or("");
    }
  }
  return outcome;
}

std::string ModelReport::Text() const {
  std::string text =
      absl::StrCat(proven, " models proven, ", recompute, " of them compute values again, ", failures, " failures");
  for (const auto& [code, count] : refused) absl::StrAppend(&text, ", ", count, " refused with ", code);
  return text;
}

ModelReport CheckModels(uint64_t first_seed, int64_t count, const std::string& folder) {
  ModelReport report;
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(count); ++seed) {
    const RandomModel model = MakeRandomModel(seed);
    const ModelOutcome outcome = CheckModel(model, folder);
    if (!outcome.failure.empty()) {
      ++report.failures;
      std::cout << "seed " << seed << ": " << outcome.failure << "\n" << model.text << std::endl;
    } else if (outcome.planned.has_value()) {
      ++report.proven;
      if (outcome.recomputes) ++report.recompute;
    } else {
      ++report.refused[outcome.refused];
    }
  }
  return report;
}

ModelRuns RunModels(uint64_t first_seed, int64_t count, const std::string& folder) {
  ModelRuns runs;
  // By the mesh: programs of one binary share it.
  std::map<std::string, std::vector<BatchCase>> waiting;
  const auto run = [&](std::vector<BatchCase>& cases) {
    const ir::Mesh mesh = cases.front().sample.plan.mesh;
    runs.programs += static_cast<int64_t>(cases.size());
    runs.report.Add(RunBatch(folder, mesh, std::exchange(cases, {}), ir::Precision::kF32));
  };
  int64_t chosen = 0;
  // One model in nine is for one device, and one in eight is a manual one.
  const uint64_t last_seed = first_seed + 4 * static_cast<uint64_t>(count) + 100;
  for (uint64_t seed = first_seed; chosen < count && seed < last_seed; ++seed) {
    const RandomModel model = MakeRandomModel(seed, {.with_custom_ops = false});
    if (model.is_manual || model.devices == 1) continue;
    ModelOutcome outcome = CheckModel(model, folder);
    if (!outcome.failure.empty()) runs.report.failures.push_back(absl::StrCat("seed ", seed, ": ", outcome.failure));
    if (!outcome.failure.empty() || !outcome.planned.has_value()) continue;
    ++chosen;
    std::vector<BatchCase>& cases = waiting[outcome.planned->plan.mesh.ToString()];
    cases.push_back({.seed = seed, .sample = *std::move(outcome.planned)});
    if (cases.size() == kCasesOfABatch) run(cases);
  }
  for (auto& [mesh, cases] : waiting) {
    if (!cases.empty()) run(cases);
  }
  return runs;
}

}  // namespace cleave::tests::properties
