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
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/custom_ops/backward.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/evaluate/expansion.h"
#include "frontend/evaluate/trainer.h"
#include "frontend/functions/functions.h"
#include "frontend/optimizer/groups.h"
#include "frontend/optimizer/loss_scale.h"
#include "frontend/optimizer/update_writer.h"
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
      : functions_(functions),
        evaluator_(evaluator),
        reporter_(reporter),
        groups_(reporter),
        loss_scale_(functions, reporter),
        writer_(functions, evaluator) {}

  // Reads `clip`, `groups`, and `loss_scale`, which is dynamic by default where `training` is in f16. Finds the
  // function that `optimizer` calls, or sgd without this setting, and writes its name and its learning rate into
  // `training`. Reports mistakes.
  void Read(const SettingTexts& settings, ir::Training& training);

  // Says which parameters are frozen whatever `groups` says of them, beside adapters.
  void Freeze(std::set<std::string> parameters) { groups_.Freeze(std::move(parameters)); }

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
  void ReadGroups(const SettingText& setting, ir::Training& training);
  Recipe ReadRecipe(const dsl::syntax::Expression& setting, const std::string& path);
  void ReadArguments(const dsl::syntax::Call& call, size_t rate, bool is_usual, Recipe& recipe);
  void ReadRate(const dsl::syntax::Expression& expression, Recipe& recipe);
  Value NamedRate(const dsl::syntax::Expression& expression, const Value& value, const Recipe& recipe);
  std::map<std::string, Value> NamesInGroup() const;
  void ReportUnknown(const dsl::syntax::Expression& callee, const std::string& name);
  void TakeTurns(const ir::Graph& model, const std::map<ir::OpId, Turns>& turns);
  bool Clip(const std::vector<Trained>& all);
  bool HasNoDemands(const Recipe& recipe);
  bool Update(Trained trained);
  bool Call(const Trained& trained);
  bool CallWasCopied(const Trained& trained);
  OptimizerExpansion Finish();

  const FunctionTable& functions_;
  Evaluator& evaluator_;
  Reporter& reporter_;
  std::optional<Recipe> usual_;  // What `optimizer` says.
  Groups groups_;
  std::optional<Value> clip_;  // The longest gradient, of all parameters together.
  std::optional<ir::OpId> clip_factor_;
  LossScale loss_scale_;
  UpdateWriter writer_;
  std::vector<ExpandedUpdate> expanded_;  // One for parameters that are alike.
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OPTIMIZER_OPTIMIZER_H_
