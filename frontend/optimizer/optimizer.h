// The optimizer that `train` names: a function of the language, which is expanded for each parameter that is trained.
//
//   fn sgd(parameter: f32[..n], gradient: f32[..n], lr: float = 0.01) -> f32[..n] { return parameter - gradient * lr; }
//
// Its first two arguments are the parameter and the gradient of the loss by it, one of the others is `lr`, and its
// result is the parameter after the step. What it keeps of a parameter is a `state`, `<parameter>.<state>`.
#ifndef CLEAVE_FRONTEND_OPTIMIZER_OPTIMIZER_H_
#define CLEAVE_FRONTEND_OPTIMIZER_OPTIMIZER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/custom_ops/backward.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/functions/functions.h"
#include "frontend/optimizer/share.h"
#include "frontend/report/report.h"
#include "frontend/settings/settings.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::frontend {

struct OptimizerExpansion {
  ir::Updates updates;
  std::map<ir::OpId, CustomCall> custom_calls = {};  // Of the file's own ops.
};

class Optimizer {
 public:
  // Keeps references to all three. `evaluator` has the model's arguments and has expanded nothing.
  Optimizer(const FunctionTable& functions, Evaluator& evaluator, Reporter& reporter)
      : functions_(functions), evaluator_(evaluator), reporter_(reporter) {}

  // Reads `clip`. Finds the function that `optimizer` calls, or sgd without this setting, and writes its name and its
  // learning rate into `training`. Reports mistakes.
  void Read(const SettingTexts& settings, ir::Training& training);

  // The updates of the parameters of `model` that have a gradient. After a mistake, which is reported, there are none.
  // REQUIRES: Read has reported nothing. Called once.
  OptimizerExpansion Expand(const ir::Graph& model);

 private:
  const Function* FunctionNamed(const std::string& name) const;
  void ReadCall(const dsl::syntax::Expression& setting, ir::Training& training);
  void ReadClip(const SettingText& setting);
  void ReadArguments(const dsl::syntax::Call& call, size_t rate, ir::Training& training);
  void ReadRate(const dsl::syntax::Expression& expression, ir::Training& training);
  void ReportUnknown(const dsl::syntax::Expression& callee, const std::string& name);
  // A parameter of the model, and the gradient by which it is updated.
  struct Trained {
    const ir::Op& parameter;
    ir::OpId own;
    ir::OpId gradient;
  };
  bool Clip(std::vector<Trained>& all);
  std::optional<ir::OpId> CallPrelude(const std::string& function, std::vector<Value> tensors);
  bool Update(const Trained& trained);
  OptimizerExpansion Finish();

  const FunctionTable& functions_;
  Evaluator& evaluator_;
  Reporter& reporter_;
  std::string context_;  // Of the setting, for messages.
  Span span_;            // Of the setting.
  const Function* function_ = nullptr;
  std::optional<dsl::syntax::Call> call_;  // Its arguments have names.
  StepValue rate_{.formula = ir::Scalar(0)};
  std::optional<double> clip_;  // The longest gradient, of all parameters together.
  std::vector<PartOfUpdates> parts_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OPTIMIZER_OPTIMIZER_H_
