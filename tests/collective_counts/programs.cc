#include "tests/collective_counts/programs.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dsl/parse/parse.h"
#include "frontend/frontend.h"
#include "gtest/gtest.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/proof/check/check.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/model/cluster/cluster.h"
#include "search/rows.h"
#include "search/search.h"

namespace cleave::tests {
namespace {

// The collectives of a training step without those of the loss, which are the same in every plan.
std::vector<const ir::Step*> CountedSteps(const Compiled& compiled) {
  std::vector<const ir::Step*> steps;
  for (const ir::Step& step : compiled.program.steps) {
    const auto* collective = std::get_if<ir::Collective>(&step.action);
    if (collective == nullptr || step.phase == ir::Phase::kMetric) continue;
    if (compiled.program.value(collective->transfers[0].input).origin == compiled.graph.loss) continue;
    steps.push_back(&step);
  }
  return steps;
}

void ExpectNoErrors(const Diagnostics& diagnostics, const std::string& where) {
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    if (diagnostic.severity == Severity::kError) ADD_FAILURE() << diagnostic.message << " in\n" << where;
  }
}

}  // namespace

std::optional<frontend::Module> ReadModule(const std::string& text, const std::string& path) {
  Diagnostics diagnostics;
  SourceSet sources;
  const FileId file = sources.Add(path, text);
  const std::optional<dsl::syntax::File> syntax = dsl::Parse(file, sources, diagnostics);
  std::optional<frontend::Module> module;
  if (syntax.has_value()) module = frontend::Analyze(*syntax, sources, {}, diagnostics);
  ExpectNoErrors(diagnostics, text);
  return module;
}

Compiled CompileModel(const std::string& text, int devices, const ir::PartitionOptions& options) {
  SCOPED_TRACE(text);
  const std::optional<frontend::Module> module = ReadModule(text, "test.model");
  return module.has_value() ? CompileModule(*module, devices, options) : Compiled{};
}

Compiled CompileModule(const frontend::Module& module, int devices, const ir::PartitionOptions& options) {
  Compiled compiled;
  Diagnostics diagnostics;
  compiled.graph = *ir::Differentiate(module.graph, module.updates);
  const std::optional<search::Found> found = search::SearchWithRows(
      compiled.graph, search::CpuCluster(devices), module.pins, search::OptionsFrom(module.pins.settings), diagnostics);
  ExpectNoErrors(diagnostics, module.graph.model);
  if (!found.has_value()) return compiled;
  const ir::Graph graph = ir::WithRowUpdates(std::move(compiled.graph), ir::GradientsByRows(found->plan));
  absl::StatusOr<ir::Distributed> distributed = ir::Distribute(graph, found->plan);
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  if (!distributed.ok()) return compiled;
  compiled.graph = distributed->graph;
  compiled.plan = distributed->plan;
  absl::StatusOr<ir::Program> program = ir::Partition(compiled.graph, compiled.plan, options);
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return compiled;
  compiled.program = *std::move(program);
  EXPECT_EQ(absl::StrJoin(ir::CheckStatically(compiled.program), "\n"), "");
  const absl::Status proof = graph.is_manual() ? ir::CheckManual(graph, compiled.program).status()
                                               : ir::CheckBySimulation(graph, *distributed, compiled.program).status();
  EXPECT_TRUE(proof.ok()) << proof;
  return compiled;
}

std::string CollectivesOf(const Compiled& compiled, std::set<ir::Phase> phases) {
  std::map<ir::CollectiveKind, int> counts;
  for (const ir::Step* step : CountedSteps(compiled)) {
    if (phases.count(step->phase) > 0) ++counts[std::get<ir::Collective>(step->action).kind];
  }
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& count) {
    absl::StrAppend(out, ir::CollectiveKindName(count.first), " ", count.second);
  });
}

double SentBytesOf(const Compiled& compiled) {
  double bytes = 0;
  for (const ir::Step* step : CountedSteps(compiled)) {
    bytes += ir::SentBytes(compiled.program, std::get<ir::Collective>(step->action));
  }
  return bytes;
}

}  // namespace cleave::tests
