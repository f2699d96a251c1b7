// What a search is told, and what it gives.
//
//   SearchOptions options = OptionsFrom(pins.settings);
//   options.execution = {.overlaps = true};
#ifndef CLEAVE_SEARCH_KNOBS_OPTIONS_H_
#define CLEAVE_SEARCH_KNOBS_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "ir/program/lower/lower.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/tuning/tuning.h"
#include "search/price/cost/execution.h"

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
      0;  // 1 to 3: what replicas share is divided (search/knobs/zero); nullopt: as much as memory needs.
  int64_t micro_batches = 1;          // Plan::micro_batches.
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

// The plan, and its program where one was made to measure it. The plan inside of the program is without reasons.
struct Found {
  ir::Plan plan;
  std::optional<ir::LoweredProgram> program;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_OPTIONS_H_
