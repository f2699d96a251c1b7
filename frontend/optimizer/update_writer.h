// Writes what becomes of gradients before and beside the functions of optimizers.
#ifndef CLEAVE_FRONTEND_OPTIMIZER_UPDATE_WRITER_H_
#define CLEAVE_FRONTEND_OPTIMIZER_UPDATE_WRITER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/evaluate/trainer.h"
#include "frontend/functions/functions.h"
#include "frontend/optimizer/groups.h"
#include "frontend/optimizer/share.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

// A parameter of the model, the gradient by which it is updated, and how.
struct Trained {
  const ir::Op& parameter;
  const Recipe& recipe;
  ir::OpId own;
  ir::OpId gradient;
  std::optional<Turns> turns;  // Where it is not trained in every step.
};

// What the function of a recipe has made of a parameter.
struct ExpandedUpdate {
  Trained of;
  ir::OpId first, end = {};                   // The ops from the first one up to the end.
  std::vector<ir::StateUpdate> updates = {};  // Of its states, and last its own.
};

class UpdateWriter {
 public:
  // Keeps references to both.
  UpdateWriter(const FunctionTable& functions, Evaluator& evaluator) : functions_(functions), evaluator_(evaluator) {}

  Evaluator& evaluator() { return evaluator_; }
  OpWriter& ops() { return evaluator_.ops(); }

  // What is written from now on belongs to this parameter, or to all and is called `path`.
  void Begin(const ir::Op& parameter);
  void BeginForAll(const std::string& path);
  const std::vector<PartOfUpdates>& parts() const { return parts_; }

  // Calls of functions of the prelude for all parameters together.
  struct PreludeCall {
    std::string path;
    Span span;  // For messages.
    std::vector<dsl::syntax::Argument> arguments = {};
    std::map<std::string, Value> named = {};
  };
  Value CallPrelude(const std::string& function, const PreludeCall& call, std::vector<Value> tensors);

  // The sum of what the function makes of each gradient, where each parameter names its own term, such as
  // `h.weight.clip.reduce_sum`, and its addition, `h.weight.clip.add`. All terms stand before all additions, whose
  // order is that of the model. Nullopt after a mistake. REQUIRES: there is a gradient.
  std::optional<ir::OpId> SumOverGradients(const std::string& function, const PreludeCall& call,
                                           const std::vector<Trained>& all);

  // What a call has made of a parameter, made of another one that is like it. REQUIRES: no op has a name or a key that
  // the parameter's does not begin.
  void Copy(const ExpandedUpdate& expanded, const Trained& other);

  // From the `first` update on, states stay as they are where the condition holds, or where it does not.
  void KeepWhere(ir::OpId condition, size_t first, bool keeps);

  // A scalar that is 1 in these steps, and 0 in all others.
  ir::OpId AddTurn(const Turns& turns, const std::string& path);

 private:
  const FunctionTable& functions_;
  Evaluator& evaluator_;
  std::vector<PartOfUpdates> parts_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OPTIMIZER_UPDATE_WRITER_H_
