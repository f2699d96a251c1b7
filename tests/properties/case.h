// A random training graph with a random plan, and the program that the compiler makes of it.
#ifndef CLEAVE_TESTS_PROPERTIES_CASE_H_
#define CLEAVE_TESTS_PROPERTIES_CASE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/graph/ops/samples.h"
#include "ir/graph/training/training.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::tests::properties {

struct PlannedGraph {
  ir::Graph graph;
  ir::Plan plan;
  ir::PartitionOptions partition = {};
  // Draws what each stage takes on a target that overlaps; nullopt: the target does not.
  std::optional<uint64_t> seconds = {};
};

struct CaseOptions {
  int most_ops = 30;  // Of the table, in the forward part; most graphs have few.
  int64_t most_ranks = 12;
  int64_t largest_size = 7;
  ir::Precision precision = ir::Precision::kF32;
  bool offloads = true;  // Values may wait in the host's memory, which programs for GPUs alone do.
  int most_stages = 1;   // Of a pipeline, in RandomCase.
  // Makes the forward part; null: of the op table.
  ir::Graph (*forward)(ir::Random& random) = nullptr;
};

// The same seed gives the same case.
PlannedGraph RandomCase(uint64_t seed, const CaseOptions& options = {});
PlannedGraph RandomCaseOn(const ir::Mesh& mesh, uint64_t seed, const CaseOptions& options = {});

// The program that the compiler makes of the case.
struct Compiled {
  ir::Distributed distributed;  // The graph and plan from which the program was made.
  ir::Program program;
};
absl::StatusOr<Compiled> Compile(const PlannedGraph& sample);

// Graph, mesh, and how the plan cuts each op; and the program of rank 0.
std::string CaseText(const PlannedGraph& sample);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_CASE_H_
