// Functions and layers as values.
//
//   let tower = layer dense(8);
//   let a = tower(x);    Makes tower.weight and tower.bias.
//   let b = tower(y);    Finds them.
//
// A layer fixes all arguments of a function but the tensors. Its parameters are named by the path of the statement that
// made it. The name of a function is a value too: a call of it is a call of the function, which makes parameters of its
// own.
#ifndef CLEAVE_FRONTEND_EVALUATE_LAYERS_H_
#define CLEAVE_FRONTEND_EVALUATE_LAYERS_H_

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/path_numbers.h"
#include "frontend/functions/functions.h"
#include "frontend/report/report.h"
#include "frontend/value/value.h"
#include "ir/graph/repetition.h"

namespace cleave::frontend {

struct Layer {
  const Function* function = nullptr;
  std::vector<const dsl::syntax::Argument*> arguments;  // For each of the function's parameters; null where it is open.
  std::vector<Value> values;                            // Of the arguments.
  std::string parameters;                               // The path of its parameters.
  TextTrail trail;                                      // To the statement that made it.
  int place = 0;                                        // Of the calls in that statement.
  ir::Repetition made_in;
  bool again = false;              // It was made in a later call of another layer, whose parameters are there.
  std::optional<Span> first = {};  // The call that has made the parameters.
};

// What the FunctionValues of one expansion stand for.
class Layers {
 public:
  // The function or op that a name means.
  Value Add(const std::string& name, const Callee& callee);
  Value Add(Layer layer);

  // The functions and ops that are values, for another expansion in which these values stand for the same.
  std::vector<Callee> TakeCallees() && { return std::move(callees_); }
  explicit Layers(std::vector<Callee> callees = {}) : callees_(std::move(callees)) {}

  // REQUIRES: the value is of this expansion, and a layer or not.
  Layer& layer(const FunctionValue& value) { return layers_[static_cast<size_t>(value.id)]; }
  const Callee& callee(const FunctionValue& value) const { return callees_[static_cast<size_t>(value.id)]; }

 private:
  std::deque<Layer> layers_;
  std::vector<Callee> callees_;
};

// `layer function(arguments)`, whose call is at `site`. Poison after a mistake.
Value MakeLayer(const Function& function, const CallSite& site, PathNumbers& numbers, Layers& layers,
                const Context& context);

// The arguments of a call of the layer in the order of its function's parameters; null for a default. Nullopt after a
// mistake.
std::optional<std::vector<const dsl::syntax::Argument*>> MatchCall(const Layer& layer, const CallSite& site,
                                                                   Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_LAYERS_H_
