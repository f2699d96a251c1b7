#include "runtime/train/best.h"

#include <cinttypes>
#include <cmath>

#include "runtime/error/error.h"

namespace cleave::runtime {

std::string CriterionText(const Criterion& criterion) {
  if (criterion.measure.empty()) return "";
  return (criterion.is_least ? "min(" : "max(") + criterion.measure + ")";
}

Best::Best(const Criterion& criterion, int64_t patience) : criterion_(criterion), patience_(patience) {
  if (!criterion_.measure.empty()) so_far_ = BestSoFar{CriterionText(criterion_)};
}

void Best::GoOnFrom(const std::optional<BestSoFar>& then) {
  if (is_on() && then.has_value() && then->criterion == so_far_->criterion) so_far_ = then;
}

bool Best::Take(int64_t step, double value) {
  const bool is_better = so_far_->step == 0 || (criterion_.is_least ? value < so_far_->value : value > so_far_->value);
  if (!std::isfinite(value) || !is_better) {
    ++so_far_->since;
    return false;
  }
  so_far_->value = value;
  so_far_->step = step;
  so_far_->since = 0;
  return true;
}

std::string Best::Text() const {
  if (so_far_->step == 0) return so_far_->criterion + " was never finite";
  return Format("%s is %.6g, of step %" PRId64, so_far_->criterion.c_str(), so_far_->value, so_far_->step);
}

}  // namespace cleave::runtime
