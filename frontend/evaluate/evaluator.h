// Expands a model: runs its statements once, at compile time, and writes the ops that they stand for. The README says
// where each part of this is.
//
//   Evaluator evaluator(functions, custom_ops, reporter);
//   evaluator.SetModel(model, std::nullopt);
//   evaluator.RunModel(model);
//   const Expansion expansion = std::move(evaluator).Finish();
//
// A mistake is reported where it is found and gives Poison. Nothing is reported about expressions that use Poison.
#ifndef CLEAVE_FRONTEND_EVALUATE_EVALUATOR_H_
#define CLEAVE_FRONTEND_EVALUATE_EVALUATOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "dsl/syntax/syntax.h"
#include "frontend/custom_ops/custom_ops.h"
#include "frontend/evaluate/expansion.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/path_numbers.h"
#include "frontend/evaluate/pieces.h"
#include "frontend/evaluate/statics/step_formula.h"
#include "frontend/functions/functions.h"
#include "frontend/report/report.h"
#include "frontend/sightings/sightings.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"
#include "ir/graph/manual/manual.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::frontend {

class Evaluator : private Interpreter {
 public:
  // Keeps references to all of them. `sightings`: gets what is found at the places of the text, or is null.
  Evaluator(const FunctionTable& functions, const CustomOps& custom_ops, Reporter& reporter,
            Sightings* sightings = nullptr)
      : functions_(functions), custom_ops_(custom_ops), reporter_(reporter), sightings_(sightings) {
    Begin();
  }
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Binds a model argument before RunModel; settings can use it too.
  void DefineArgument(const dsl::syntax::Identifier& name, Value value);

  // Called before RunModel. The model is `#[manual]` if `attribute` is given; its ranks are known later, when the
  // `parallel` block has been read.
  void SetModel(const dsl::syntax::Model& model, std::optional<Span> attribute);
  void SetRanks(std::vector<ir::RankAxis> axes);
  // Called before RunModel for a program that generates.
  void SetGenerates();

  // `outputs`: names of the model's values that are looked at in the end (kOutput).
  void RunModel(const dsl::syntax::Model& model, const std::vector<std::string>& outputs = {});

  // The record with another value at the place that the names of fields lead to. Poison after a mistake.
  Value EvaluateWith(const Value& record, absl::Span<const dsl::syntax::Identifier> path,
                     const dsl::syntax::Expression& value);

  // A value that is known without running anything, in a setting or a default; it may use the model's arguments. Poison
  // or nothing after a mistake. `what` names the number in messages.
  Value EvaluateStatic(const dsl::syntax::Expression& expression);
  std::optional<int64_t> EvaluateInt(const dsl::syntax::Expression& expression, const std::string& what);
  std::optional<double> EvaluateNumber(const dsl::syntax::Expression& expression, const std::string& what);

  // For an evaluator of its own that expands an optimizer instead of a model: `step` is a number there, and states are
  // what the optimizer keeps. Adds the parameter, and its gradient as an input.
  struct Trained {
    ir::OpId parameter;
    ir::OpId gradient;
  };
  Trained AddTrained(const ir::Op& parameter);
  // The value of a learning rate, or of another argument of an optimizer; Poison after a mistake.
  // `names`: what can be named besides the model's arguments, which it hides.
  Value EvaluateInStep(const dsl::syntax::Expression& expression, const std::map<std::string, Value>& names = {});
  // A call of `function` with `first` before the arguments of `call` and `named` in place of arguments with these
  // names. What it makes is named under `path`, and its states are those of the parameter of that name. Poison after a
  // mistake.
  struct CallWith {
    const Function* function = nullptr;
    std::vector<Value> first;
    std::map<std::string, Value> named;
    std::string path;
    bool is_local = false;  // Each rank of a manual model has its own parameter.
    Value step = StepNumber();
  };
  Value Call(const dsl::syntax::Call& call, Span span, const CallWith& with);
  OpWriter& ops() { return pieces_->ops; }
  Demands& demands() { return pieces_->demands; }
  // Whether anything has been looked at, and whether any pin, region or retention has been written.
  bool has_looks() const { return !graph().looks.empty() || !pieces_->ops.looks_by_name().empty(); }
  bool has_demands();

  // The demand of `pin "name" = …` on `op`, checked against its shape and written down.
  void AddPin(const dsl::syntax::Attribute& attribute, ir::OpId op);

  // Gives regions the settings that they leave to the `parallel` block. Called before pins by name are added.
  void PassOverParametersOfRegions();  // Regions::PassOverParameters.
  void FinishRegions(const ir::ParallelSettings& settings);

  const ir::Graph& graph() const { return pieces_->ops.graph(); }
  Expansion Finish() &&;

 private:
  Value Evaluate(const dsl::syntax::Expression& expression, Frame& frame) override;
  void Run(const std::vector<dsl::syntax::Statement>& body, Frame& frame) override;

  // Makes all pieces new. The model's arguments stay, and the functions that are values in them.
  void Begin();
  void RunOnce(const dsl::syntax::Model& model, const std::vector<std::string>& outputs);

  const FunctionTable& functions_;
  const CustomOps& custom_ops_;
  Reporter& reporter_;
  Sightings* const sightings_;
  PathNumbers numbers_;
  std::optional<Pieces> pieces_;  // Made again where a model is expanded again.
  Frame arguments_;               // The model's arguments, which settings see too.
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_EVALUATOR_H_
