// The losses and the metrics of a model.
#ifndef CLEAVE_FRONTEND_EVALUATE_LOSS_AND_METRICS_H_
#define CLEAVE_FRONTEND_EVALUATE_LOSS_AND_METRICS_H_

#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/trainer.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

// What `#[term(name = "kl", weight = 0.1, trains = "encoder.*", every = 2)]` says of a loss.
struct LossTerm {
  std::optional<std::string> name = {};  // By default that of the outermost callee.
  std::optional<double> weight = {};
  std::vector<std::string> trains = {};  // Patterns of parameters' names; empty: all that it depends on.
  Turns turns = {};
};

// Takes `term` out of the attributes of a loss. Mistakes are reported.
LossTerm TakeLossTerm(std::vector<dsl::syntax::Attribute>& attributes, Frame& frame, const Context& context);

class LossAndMetrics {
 public:
  // `loss value;` in `frame`. It may not be in a function.
  void AddLoss(const dsl::syntax::Loss& loss, const LossTerm& term, const Value& value, const Frame& frame,
               const Context& context);

  // `metric value;`. `is_masked`: it does not count the padding of the last test batch.
  void AddMetric(const dsl::syntax::Metric& metric, const Value& value, bool is_masked, const Frame& frame,
                 const Context& context);

  // Adds up the losses, which are also reported by themselves where there are several. Called once, at the end.
  void AddUpLosses(const Context& context);

  // The place of the first loss, whether it is right or wrong.
  const std::optional<Span>& loss_place() const { return loss_place_; }
  // As an Expansion has them.
  const std::vector<Span>& metrics() const { return metrics_; }
  const std::vector<Trainer>& trainers() const { return trainers_; }

 private:
  // A loss, and what it is called.
  struct Loss {
    std::string name;
    Span span;
    ir::OpId value;
    LossTerm term;
  };

  // The loss times its weight.
  static ir::OpId Weighted(const Loss& loss, const Context& context);
  // Reports a loss that does not take turns as the others do that train the same.
  void CheckTurns(const Loss& loss, const Context& context) const;
  void AddNamedMetric(const std::string& wish, ir::OpId value, Span span, const Context& context);

  std::optional<Span> loss_place_;
  std::vector<Loss> losses_;
  std::vector<Trainer> trainers_;
  std::vector<Span> metrics_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_LOSS_AND_METRICS_H_
