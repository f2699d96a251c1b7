// Finds a plan: who computes which slice of a training graph on the devices of a cluster.
//
//   Diagnostics diagnostics;
//   std::optional<Plan> plan = Search(training_graph, CpuCluster(8), pins, OptionsFrom(pins.settings), diagnostics);
//
// The same input gives the same plan on any machine; only SearchSummary::seconds differs. Ties break by op id.
// Thread-safe: no shared state.
#ifndef CLEAVE_SEARCH_SEARCH_H_
#define CLEAVE_SEARCH_SEARCH_H_

#include <cstdint>
#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/cluster/cluster.h"
#include "search/cost/execution.h"
#include "search/memory/memory.h"
#include "search/tuning/tuning.h"

namespace cleave::search {

struct SearchOptions {
  ir::SearchAlgorithm algorithm = ir::SearchAlgorithm::kSapp;
  ir::Price price = ir::Price::kBytes;
  std::optional<bool> leave_idle;                   // As in ir::ParallelSettings.
  std::optional<double> gradient_weight;            // nullopt: what the price and the target make of it.
  double redistribution_weight = 16;                // Under kClassic.
  ir::Objective objective = ir::Objective::kSpeed;  // Of regions each has its own.
  ir::Outside outside = ir::Outside::kReplicate;    // Of ops outside of regions.
  std::optional<ir::DatasetLayout> dataset;         // nullopt: data is read in whatever layout its readers want.
  std::optional<int> zero =
      0;                      // 1 to 3: what replicas share is divided (search/zero); nullopt: as much as memory needs.
  int64_t micro_batches = 1;  // Plan::micro_batches.
  bool choose_micro_batches = false;  // More where memory needs them and the batch can be cut.
  ir::Recompute recompute = ir::Recompute::kAuto;
  Execution execution = {};  // How the target runs the program.
  SearchTuning tuning = {};  // How long the search may look.
};

// The weight of reducing gradients and gathering updated parameters. Under `time` they have their full price where the
// target does one thing after the other, and where they follow the last of several micro-batches; elsewhere most of it
// is hidden behind the backward pass.
double GradientWeight(const SearchOptions& options);

// The options that the `parallel` block asks for.
SearchOptions OptionsFrom(const ir::ParallelSettings& settings);

// "sapp", "data_parallel"
absl::string_view AlgorithmName(ir::SearchAlgorithm algorithm);
std::optional<ir::SearchAlgorithm> ParseAlgorithm(absl::string_view name);
absl::string_view PriceName(ir::Price price);

// A plan for `training_graph` on all devices of `cluster`, with every pin kept, that fits into memory where the limit
// is known (search/memory); nullopt after errors. `pins.settings` names the mesh and the limit; the other settings are
// taken from `options`. REQUIRES: VerifyGraph finds no error.
std::optional<ir::Plan> Search(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                               const SearchOptions& options, Diagnostics& diagnostics);

// The plan, and its program where one was made to measure it. The plan inside of the program is without reasons.
struct Found {
  ir::Plan plan;
  std::optional<ir::LoweredProgram> program;
};
std::optional<Found> SearchForProgram(const ir::Graph& training_graph, const Cluster& cluster, const ir::Pins& pins,
                                      const SearchOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SEARCH_H_
