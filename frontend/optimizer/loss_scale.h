// `loss_scale`: what the loss is multiplied by before gradients are taken, and gradients are divided by afterwards. It
// is a number, or `dynamic(…)`, a state of the model that the prelude's `dynamic_loss_scale` updates.
#ifndef CLEAVE_FRONTEND_OPTIMIZER_LOSS_SCALE_H_
#define CLEAVE_FRONTEND_OPTIMIZER_LOSS_SCALE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/functions/functions.h"
#include "frontend/optimizer/update_writer.h"
#include "frontend/report/report.h"
#include "frontend/settings/settings.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

class LossScale {
 public:
  // Keeps references to both.
  LossScale(const FunctionTable& functions, Reporter& reporter) : functions_(functions), reporter_(reporter) {}

  // Reads the setting. Reports mistakes.
  void Read(const SettingText& setting, Evaluator& evaluator);
  // As `dynamic()` says.
  void BecomeDynamic(Evaluator& evaluator) { ReadDynamic({}, evaluator); }

  // Writes the scale, where there is one; `model` gets the states of a dynamic one, and the scale as a metric. `place`:
  // for messages, where no setting asks for it. False after a mistake, which is reported.
  bool Add(ir::Graph& model, Span place, UpdateWriter& writer);

  // Divides all gradients by the scale, and says what that is after the step. False after a mistake.
  bool Unscale(std::vector<Trained>& all, UpdateWriter& writer);

  // In the updates: the scale, and how many elements of gradients are not finite; where that can skip a step.
  const std::optional<ir::OpId>& scale() const { return scale_; }
  const std::optional<ir::OpId>& not_finite() const { return not_finite_; }

 private:
  void ReadNumber(const dsl::syntax::Expression& value, Evaluator& evaluator);
  void ReadDynamic(const std::vector<dsl::syntax::Argument>& arguments, Evaluator& evaluator);
  bool Update(const std::vector<Trained>& all, UpdateWriter& writer);

  const FunctionTable& functions_;
  Reporter& reporter_;
  // Always, or at first where it is dynamic; as a formula of the number that a flag changes. 1: there is none.
  StepValue first_{.formula = ir::Scalar(1)};
  bool is_dynamic_ = false;
  // Of the prelude's function: numbers, and what else the setting gives, by name.
  std::map<std::string, Value> numbers_;
  std::vector<dsl::syntax::Argument> arguments_;
  Span span_;
  std::optional<ir::OpId> scale_;
  std::optional<ir::OpId> good_steps_;
  std::optional<ir::OpId> not_finite_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OPTIMIZER_LOSS_SCALE_H_
