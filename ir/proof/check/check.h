// The proof that every compile makes, in two halves: a static one, that all ranks agree on their collectives, and a
// dynamic one, that the split program, with small sizes, computes what one device computes.
#ifndef CLEAVE_IR_PROOF_CHECK_CHECK_H_
#define CLEAVE_IR_PROOF_CHECK_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// Expands every rank's sequence of collectives (kind, order, group, per-member counts, dtype) and compares them within
// each group. Every value must be written once and before it is read. Every layout must be the one that its step makes
// from its inputs, so a partial value is resolved before a use that is not linear in it. Loss, metrics and updates must
// have the layouts they need. Returns the errors; empty when the program is valid.
std::vector<std::string> CheckStatically(const Program& program);

// A dimension that cannot be made small, so that a program is too large to be simulated.
struct LargeDimension {
  OpId op;
  int dimension = 0;    // Of the op's value.
  int64_t size = 0;     // In the smallest program that was found.
  double elements = 0;  // That the simulation would take, and the most that it may take.
  double most = 0;
};

struct SimulationReport {
  int ranks = 0;                            // Of the largest mesh simulated.
  int64_t values = 0;                       // Tensors compared, each on all ranks of a mesh.
  double largest_difference = 0;            // Relative to the largest element of the tensor, or absolute below 1.
  std::vector<std::string> axes_left_out;   // Axes that are in no mesh simulated; the static check covers them.
  std::optional<LargeDimension> too_large;  // Then the program is not proven.
};

// Runs the shrunk program (ir/proof/check/shrink.h) on the ranks of short meshes (ir/proof/check/short_meshes.h) and
// compares every value (forward, gradients, updated state) with the shrunk graph on one device. An Internal error names
// the first wrong tensor, its op, the rank and the two values.
absl::StatusOr<SimulationReport> CheckBySimulation(const Graph& graph, const Program& program);

struct SimulationOptions {
  // Rows lie in zigzag order (ir/transforms/zigzag): results must be those of the rows in their own order, too.
  bool in_zigzag = false;
};

// The same for the program of a distributed graph. That graph is itself compared with the `graph` from which it was
// made.
absl::StatusOr<SimulationReport> CheckBySimulation(const Graph& graph, const Distributed& distributed,
                                                   const Program& program, const SimulationOptions& options = {});

// What was proven of a manual program, for which no single device computes the same.
struct ManualReport {
  int ranks = 0;
  int64_t values = 0;        // Tensors compared, each on all ranks.
  int parameters = 0;        // Parameters whose gradients were compared with how the loss changes.
  std::string unmeasured;    // Why they were not; empty where they were.
  bool is_simulated = true;  // False: a step takes too many operations or elements, so there is only the static check.
  double operations = 0;     // Arithmetic operations of one simulated step on all ranks.
  double elements = 0;       // Elements of all tensors of that step.
};

// The most operations of a step that is simulated: a second or two for all that is compared.
inline constexpr double kMostOperations = 2e8;

// Runs the shrunk program of a manual model on all its ranks, with the constants that its gradients have for the small
// sizes. Every value must be the one that the model's ops compute rank by rank (ir/graph/manual). Ranks that should
// hold the same value must do so. Along a random direction of all parameters the loss must change by what the gradients
// say; where no sources are found on which loss and gradients are numbers and the loss is smooth, the report says so.
// An Internal error names the first wrong tensor, or the loss. REQUIRES: graph.is_manual().
absl::StatusOr<ManualReport> CheckManual(const Graph& graph, const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_CHECK_H_
