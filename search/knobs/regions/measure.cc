#include "search/knobs/regions/measure.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check/check.h"
#include "ir/program/memory/memory_plan.h"
#include "search/knobs/memory/memory.h"
#include "search/price/cost/predict.h"

namespace cleave::search {
namespace {

// The quantities in the order in which they count.
std::array<double, 3> InOrder(ir::Objective objective, const Measured& measured) {
  const double step = measured.step.value();
  const auto peak = static_cast<double>(measured.peak.value());
  switch (objective) {
    case ir::Objective::kSpeed:
      return {step, peak, measured.sent_bytes};
    case ir::Objective::kMemory:
      return {peak, step, measured.sent_bytes};
    case ir::Objective::kComputeToCommunication:
      return {measured.sent_bytes, step, peak};
  }
  CLEAVE_UNREACHABLE();
}

}  // namespace

Measured Measure(const ir::Graph& training_graph, const ir::Plan& plan, const Cluster& cluster,
                 const Execution& execution) {
  const absl::StatusOr<ir::LoweredProgram> made = ProgramOf(training_graph, plan, cluster, execution);
  CLEAVE_CHECK(made.ok()) << made.status();
  const Prediction predicted = Predict(made->program, made->memory.fusion, cluster, execution.overlaps);
  return {
      .step = predicted.step, .peak = made->memory.use.prediction.peak, .sent_bytes = predicted.sent_bytes_per_rank};
}

bool IsBetter(ir::Objective objective, const Measured& a, const Measured& b) {
  const std::array<double, 3> own = InOrder(objective, a), other = InOrder(objective, b);
  for (size_t i = 0; i < own.size(); ++i) {
    // Sums in another order differ by less than this.
    if (std::abs(own[i] - other[i]) > 1e-9 * std::max(own[i], other[i])) return own[i] < other[i];
  }
  return false;
}

}  // namespace cleave::search
