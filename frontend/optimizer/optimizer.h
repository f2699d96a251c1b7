// The optimizer that `train` names: a function of the language, which is expanded for each parameter that is trained.
//
//   fn sgd(parameter: f32[..n], gradient: f32[..n], lr: float = 0.01) -> f32[..n] { return parameter - gradient * lr; }
//
// Its first two arguments are the parameter and the gradient of the loss by it, one of the others is `lr`, and its
// result is the parameter after the step. What it keeps of a parameter is a `state`, `<parameter>.<state>`. Groups of
// parameters can have optimizers of their own, or none.
#ifndef CLEAVE_FRONTEND_OPTIMIZER_OPTIMIZER_H_
#define CLEAVE_FRONTEND_OPTIMIZER_OPTIMIZER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/custom_ops/backward.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/evaluate/expansion.h"
#include "frontend/evaluate/trainer.h"
#include "frontend/functions/functions.h"
#include "frontend/optimizer/groups.h"
#include "frontend/optimizer/share.h"
#include "frontend/report/report.h"
#include "frontend/settings/settings.h"
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
      : functions_(functions), evaluator_(evaluator), reporter_(reporter), groups_(reporter) {}

  // Reads `clip`, `groups`, and `loss_scale`, which is dynamic by default where `training` is in f16. Finds the
  // function that `optimizer` calls, or sgd without this setting, and writes its name and its learning rate into
  // `training`. Reports mistakes.
  void Read(const SettingTexts& settings, ir::Training& training);

  // Takes the parameters of frozen groups out of those that are trained, and finds those of the other groups. Reports
  // groups that do not fit the model.
  void Divide(ir::Graph& model) { groups_.Divide(model); }

  // The updates of the parameters of `model` that have a gradient. `model` gets the states of a dynamic loss scale, and
  // the scale as a metric. Writes into `training` what those parameters have for an optimizer that another one updates.
  // After a mistake, which is reported, there are none. REQUIRES: Read and Divide have reported nothing. Called once.
  OptimizerExpansion Expand(Expansion& model, ir::Training& training);

 private:
  const Function* FunctionNamed(const std::string& name) const;
  void ReadClip(const SettingText& setting);
  void ReadLossScale(const SettingText& setting);
  void ReadDynamicScale(const std::vector<dsl::syntax::Argument>& arguments);
  void ReadGroups(const SettingText& setting, ir::Training& training);
  Recipe ReadRecipe(const dsl::syntax::Expression& setting, const std::string& path);
  void ReadArguments(const dsl::syntax::Call& call, size_t rate, bool is_usual, Recipe& recipe);
  void ReadRate(const dsl::syntax::Expression& expression, Recipe& recipe);
  Value NamedRate(const dsl::syntax::Expression& expression, const Value& value, const Recipe& recipe);
  std::optional<Value> NamedNumber(const dsl::syntax::Parameter& parameter, const dsl::syntax::Argument* given,
                                   const std::string& name);
  std::map<std::string, Value> NamesInGroup() const;
  void ReportUnknown(const dsl::syntax::Expression& callee, const std::string& name);
  // A parameter of the model, the gradient by which it is updated, and how.
  struct Trained {
    const ir::Op& parameter;
    const Recipe& recipe;
    ir::OpId own;
    ir::OpId gradient;
    std::optional<Turns> turns;  // Where it is not trained in every step.
  };
  Span PlaceOfScale() const { return loss_scale_span_.is_somewhere() ? loss_scale_span_ : usual_->span; }
  bool AddScale(ir::Graph& model);
  bool Unscale(std::vector<Trained>& all);
  bool UpdateScale(const std::vector<Trained>& all);
  ir::OpId AddModelState(ir::Graph& model, const std::string& name, double first);
  void KeepWhere(ir::OpId condition, size_t first, bool keeps);
  ir::OpId AddTurn(const Turns& turns, const std::string& path);
  void TakeTurns(const ir::Graph& model, const std::map<ir::OpId, Turns>& turns);
  bool Clip(std::vector<Trained>& all);
  std::optional<ir::OpId> SumOverGradients(const std::string& first, const std::string& more, const std::string& path,
                                           const std::vector<Trained>& all);
  Value CallPrelude(const std::string& function, const std::string& path, std::vector<Value> tensors,
                    std::vector<dsl::syntax::Argument> arguments = {});
  bool HasNoDemands(const Recipe& recipe);
  bool Update(const Trained& trained);
  OptimizerExpansion Finish();

  const FunctionTable& functions_;
  Evaluator& evaluator_;
  Reporter& reporter_;
  std::optional<Recipe> usual_;  // What `optimizer` says.
  Groups groups_;
  std::optional<Value> clip_;  // The longest gradient, of all parameters together.
  // What the loss is multiplied by before gradients are taken: always, or at first where it is dynamic.
  double loss_scale_ = 1;
  std::optional<std::vector<dsl::syntax::Argument>> dynamic_scale_;  // Of the prelude's function, by name.
  Span loss_scale_span_;
  std::optional<ir::OpId> scale_;  // In the updates, as the next two.
  std::optional<ir::OpId> good_steps_;
  std::optional<ir::OpId> not_finite_;  // How many elements of gradients are not; where that can skip a step.
  std::vector<PartOfUpdates> parts_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OPTIMIZER_OPTIMIZER_H_
