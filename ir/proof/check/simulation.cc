// The dynamic half of the proof: the shrunk program on simulated ranks against the shrunk graph on one device.

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "ir/proof/check/check.h"
#include "ir/proof/check/compare.h"
#include "ir/proof/check/original.h"
#include "ir/proof/check/short_meshes.h"
#include "ir/proof/check/shrink.h"
#include "ir/proof/check/simulation_size.h"

namespace cleave::ir {
namespace {

// Checks that every value is what an op of the graph makes of the values of that op's own inputs. The static check
// proves that collectives and slices keep values. Shrinking changes no value, since it takes attributes and types from
// the graph.
absl::Status CheckOps(const Graph& graph, const Program& program) {
  for (const Value& value : program.values) {
    if (!graph.ops.contains(value.origin) || value.type != graph.op(value.origin).type) {
      return absl::InternalError(absl::StrCat("`", value.name, "` has another type than its op"));
    }
  }
  return CheckComputes(graph, program);
}

// Compares every value of the shrunk program on all ranks, and adds to the report.
absl::Status Simulate(const Shrunk& shrunk, SimulationReport& report) {
  CLEAVE_ASSIGN_OR_RETURN(const Comparison comparison,
                          CompareOnRandomSources(shrunk.graph, shrunk.program, /*seed=*/1));
  if (!comparison.wrong.empty()) return absl::InternalError(comparison.wrong.front().Text(shrunk.program));
  report.ranks = std::max(report.ranks, RankMesh(shrunk.program).rank_count());
  report.values += comparison.values;
  report.largest_difference = std::max(report.largest_difference, comparison.largest_difference);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SimulationReport> CheckBySimulation(const Graph& graph, const Distributed& distributed,
                                                   const Program& program) {
  CLEAVE_ASSIGN_OR_RETURN(const SimulationReport report, CheckBySimulation(distributed.graph, program));
  // Nothing was replaced, so the graphs are the same.
  if (distributed.graph.ops == graph.ops || report.too_large.has_value()) return report;
  for (const Mesh& mesh : ShortMeshesOf(program).meshes) {
    CLEAVE_ASSIGN_OR_RETURN(const Shrunk shrunk, Shrink(distributed.graph, program, mesh));
    CLEAVE_RETURN_IF_ERROR(CompareWithOriginal(graph, distributed, shrunk.graph));
  }
  return report;
}

absl::StatusOr<SimulationReport> CheckBySimulation(const Graph& graph, const Program& program) {
  CLEAVE_RETURN_IF_ERROR(CheckOps(graph, program));
  const ShortMeshes short_meshes = ShortMeshesOf(program);
  SimulationReport report;
  report.axes_left_out = short_meshes.left_out;
  for (const Mesh& mesh : short_meshes.meshes) {
    CLEAVE_ASSIGN_OR_RETURN(const Shrunk shrunk, Shrink(graph, program, mesh));
    report.too_large = FindTooLarge(shrunk.graph, shrunk.program);
    if (report.too_large.has_value()) return report;
    CLEAVE_RETURN_IF_ERROR(Simulate(shrunk, report));
  }
  return report;
}

}  // namespace cleave::ir
