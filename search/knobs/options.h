// The options of a search, and its result.
//
//   SearchOptions options = OptionsFrom(pins.settings);
//   options.execution = {.overlaps = true};
#ifndef CLEAVE_SEARCH_KNOBS_OPTIONS_H_
#define CLEAVE_SEARCH_KNOBS_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "base/units/units.h"
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
  std::optional<double> gradient_weight;            // nullopt: by price and target (GradientWeight).
  double redistribution_weight = 16;                // Under kClassic.
  ir::Objective objective = ir::Objective::kSpeed;  // Each region has one of its own.
  ir::Outside outside = ir::Outside::kReplicate;    // Of ops outside of regions.
  std::optional<ir::DatasetLayout> dataset;         // nullopt: each reader gets data in the layout that it wants.
  std::optional<int> zero = 0;                      // 0 to 3 (search/knobs/zero); nullopt: the least that memory needs.
  int64_t micro_batches = 1;                        // Plan::micro_batches.
  bool choose_micro_batches = false;                // `micro_batches` is the least number.
  ir::Recompute recompute = ir::Recompute::kAuto;
  Execution execution = {};  // How the target runs the program.
  SearchTuning tuning = {};  // Bounds of the search's work.
  // The step of a plan of the model that another search has found: under a memory limit only faster plans are wanted,
  // and a search ends, without errors, as soon as none can be. REQUIRES: nullopt, or IsByStep.
  std::optional<Seconds> faster_than = {};
};

// The weight of the price of reducing gradients and gathering updated parameters: options.gradient_weight, else 0.1
// under `bytes`, and under `time` 0.5, or 1 where no backward pass hides them: without overlap, with several
// micro-batches, with ZeRO.
double GradientWeight(const SearchOptions& options);

// Whether of two plans that fit the one with the faster step is better.
bool IsByStep(const SearchOptions& options);

// The options that the `parallel` block of a model sets.
SearchOptions OptionsFrom(const ir::ParallelSettings& settings);

// "sapp", "data_parallel"
absl::string_view AlgorithmName(ir::SearchAlgorithm algorithm);
std::optional<ir::SearchAlgorithm> ParseAlgorithm(absl::string_view name);
absl::string_view PriceName(ir::Price price);

// A plan, and its program if one was made to measure it. The program's copy of the plan has no reasons.
struct Found {
  ir::Plan plan;
  std::optional<ir::LoweredProgram> program;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_OPTIONS_H_
