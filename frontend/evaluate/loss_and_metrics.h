// The loss and the metrics of a model.
#ifndef CLEAVE_FRONTEND_EVALUATE_LOSS_AND_METRICS_H_
#define CLEAVE_FRONTEND_EVALUATE_LOSS_AND_METRICS_H_

#include <optional>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

class LossAndMetrics {
 public:
  // `loss value;` in `frame`. It may not be in a function, nor given twice.
  void SetLoss(const dsl::syntax::Loss& loss, const Value& value, const Frame& frame, const Context& context);

  // `metric value;`. `is_masked`: it does not count the padding of the last test batch.
  void AddMetric(const dsl::syntax::Metric& metric, const Value& value, bool is_masked, const Frame& frame,
                 const Context& context);

  // The place of the first loss, whether it is right or wrong.
  const std::optional<Span>& loss_place() const { return loss_place_; }
  // As an Expansion has them.
  const std::optional<Span>& loss() const { return loss_; }
  const std::vector<Span>& metrics() const { return metrics_; }

 private:
  std::optional<Span> loss_place_;
  std::optional<Span> loss_;
  std::vector<Span> metrics_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_LOSS_AND_METRICS_H_
