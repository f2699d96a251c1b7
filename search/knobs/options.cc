#include "search/knobs/options.h"

namespace cleave::search {

double GradientWeight(const SearchOptions& options) {
  constexpr double kOfBytes = 0.1, kHalfHidden = 0.5;
  if (options.gradient_weight.has_value()) return *options.gradient_weight;
  if (options.price != ir::Price::kTime) return kOfBytes;
  // Gradients of micro-batches, and those that are divided, are sent when there is no more work to hide them.
  const bool is_hidden = options.execution.overlaps && options.micro_batches == 1 && options.zero.value_or(0) == 0;
  return is_hidden ? kHalfHidden : 1;
}

bool IsByStep(const SearchOptions& options) {
  return options.price == ir::Price::kTime && options.objective == ir::Objective::kSpeed;
}

SearchOptions OptionsFrom(const ir::ParallelSettings& settings) {
  SearchOptions options{.algorithm = settings.search,
                        .price = settings.price(),
                        .leave_idle = settings.leave_idle,
                        .gradient_weight = settings.gradient_weight,
                        .redistribution_weight = settings.redistribution_weight,
                        .objective = settings.objective,
                        .outside = settings.outside,
                        .dataset = std::nullopt,
                        .zero = std::nullopt,
                        .micro_batches = settings.micro_batches.value_or(1),
                        .choose_micro_batches = !settings.micro_batches.has_value(),
                        .recompute = settings.recompute};
  if (settings.zero.has_value()) options.zero = static_cast<int>(*settings.zero);
  if (settings.dataset_given) options.dataset = settings.dataset;
  return options;
}

absl::string_view AlgorithmName(ir::SearchAlgorithm algorithm) {
  switch (algorithm) {
    case ir::SearchAlgorithm::kSapp:
      return "sapp";
    case ir::SearchAlgorithm::kPropagate:
      return "propagate";
    case ir::SearchAlgorithm::kExact:
      return "exact";
    case ir::SearchAlgorithm::kDataParallel:
      return "data_parallel";
    case ir::SearchAlgorithm::kReplicate:
      return "replicate";
    case ir::SearchAlgorithm::kManual:
      return "manual";
  }
  return "";
}

std::optional<ir::SearchAlgorithm> ParseAlgorithm(absl::string_view name) {
  for (const ir::SearchAlgorithm algorithm :
       {ir::SearchAlgorithm::kSapp, ir::SearchAlgorithm::kPropagate, ir::SearchAlgorithm::kExact,
        ir::SearchAlgorithm::kDataParallel, ir::SearchAlgorithm::kReplicate, ir::SearchAlgorithm::kManual}) {
    if (AlgorithmName(algorithm) == name) return algorithm;
  }
  return std::nullopt;
}

absl::string_view PriceName(ir::Price price) {
  switch (price) {
    case ir::Price::kBytes:
      return "bytes";
    case ir::Price::kClassic:
      return "classic";
    case ir::Price::kTime:
      return "time";
  }
  return "";
}

}  // namespace cleave::search
