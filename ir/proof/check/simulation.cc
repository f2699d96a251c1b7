// The dynamic half of the proof: the shrunk program on simulated ranks against the shrunk graph on one device.

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "ir/proof/check/check.h"
#include "ir/proof/check/compare.h"
#include "ir/proof/check/original.h"
#include "ir/proof/check/own_order.h"
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

// Simulates the program on each of the meshes and calls `check` with what was simulated. Nothing is simulated if one of
// them would be too large.
absl::StatusOr<SimulationReport> SimulateOn(const ShortMeshes& short_meshes, const Graph& graph, const Program& program,
                                            const std::function<absl::Status(const Shrunk&)>& check) {
  SimulationReport report;
  report.axes_left_out = short_meshes.left_out;
  // Small graphs of large models still have as many ops, so only one at a time is kept.
  std::optional<Shrunk> shrunk;
  for (const Mesh& mesh : short_meshes.meshes) {
    CLEAVE_ASSIGN_OR_RETURN(shrunk, Shrink(graph, program, mesh));
    report.too_large = FindTooLarge(shrunk->graph, shrunk->program);
    if (report.too_large.has_value()) return report;
  }
  for (const Mesh& mesh : short_meshes.meshes) {
    if (shrunk->program.mesh != mesh) {
      CLEAVE_ASSIGN_OR_RETURN(shrunk, Shrink(graph, program, mesh));
    }
    CLEAVE_RETURN_IF_ERROR(Simulate(*shrunk, report));
    CLEAVE_RETURN_IF_ERROR(check(*shrunk));
  }
  return report;
}

// On all ranks of the program's mesh if there are few and the simulation is not too large, else on short meshes.
absl::StatusOr<SimulationReport> SimulateSmall(const Graph& graph, const Program& program,
                                               const std::function<absl::Status(const Shrunk&)>& check) {
  CLEAVE_RETURN_IF_ERROR(CheckOps(graph, program));
  CLEAVE_ASSIGN_OR_RETURN(SimulationReport report, SimulateOn(ShortMeshesOf(program), graph, program, check));
  // What is cut into N pieces has N elements or more, so where ops cut several dimensions of a tensor, it grows with a
  // power of the number of ranks. On four ranks there are still two axes, so that their order can be wrong.
  constexpr int64_t kFewestRanks = 4;
  for (int64_t ranks = kSimulatedRanks / 2; report.too_large.has_value() && ranks >= kFewestRanks; ranks /= 2) {
    if (RanksOfStage(program) <= ranks) continue;
    CLEAVE_ASSIGN_OR_RETURN(report, SimulateOn(ShortMeshesOf(program, ranks), graph, program, check));
  }
  return report;
}

}  // namespace

absl::StatusOr<SimulationReport> CheckBySimulation(const Graph& graph, const Distributed& distributed,
                                                   const Program& program, const SimulationOptions& options) {
  // Where nothing was replaced, the graphs are the same.
  const bool is_replaced = distributed.graph.ops != graph.ops;
  return SimulateSmall(distributed.graph, program, [&](const Shrunk& shrunk) {
    if (options.in_zigzag) CLEAVE_RETURN_IF_ERROR(CompareInOwnOrder(shrunk.graph));
    return is_replaced ? CompareWithOriginal(graph, distributed, shrunk.graph) : absl::OkStatus();
  });
}

absl::StatusOr<SimulationReport> CheckBySimulation(const Graph& graph, const Program& program) {
  return SimulateSmall(graph, program, [](const Shrunk&) { return absl::OkStatus(); });
}

}  // namespace cleave::ir
