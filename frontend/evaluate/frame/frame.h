// The model's body, or the body of a function that is called, while its statements are run.
#ifndef CLEAVE_FRONTEND_EVALUATE_FRAME_FRAME_H_
#define CLEAVE_FRONTEND_EVALUATE_FRAME_FRAME_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "dsl/syntax/syntax.h"
#include "frontend/attributes/block.h"
#include "frontend/evaluate/ops/op_writer.h"
#include "frontend/functions/functions.h"
#include "frontend/scope/scope.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

// How the calls of one statement name what they make: by the statement's path and, where several of its calls own
// parameters, also by the callee and its ordinal.
struct Naming {
  std::string path;
  std::string parameters;  // The path of parameters: another one within a call of a layer.
  std::string stem = {};   // `parameters` without a number and without the indices of loops.
  bool is_named = false;   // Whether the statement adds a name to the path of its function.
  bool ordinals = false;
  std::map<std::string, int> next_ordinal = {};

  // Adds the name and the number of a callee to both paths.
  void AddOrdinal(const std::string& callee, Naming& to);
};

// A statement on the way to what it makes, outermost first.
struct TextStep {
  int frame = 0;  // Which call of the function, or the model.
  int place = 0;  // Where that call is written: the same in all passes of a loop.
  const dsl::syntax::Statement* statement = nullptr;
  std::string stem;
  bool is_named = false;
};
using TextTrail = std::vector<TextStep>;

// The innermost layer whose call led to a frame.
struct LayerCall {
  bool again = false;      // Another call has made the parameters.
  Span first;              // The call that makes, or has made, the parameters.
  ir::Repetition made_in;  // Where the layer was made: its parameters belong to these passes of loops.
};

struct Frame {
  const Function* function = nullptr;  // Null in the model.
  std::string path;
  std::string parameters;             // The path under which its parameters are named.
  std::vector<int64_t> loop_indices;  // Of the loops around the current statement, outermost first.
  Scope scope;
  std::map<std::string, std::vector<int64_t>> rests;  // `..n`
  std::map<std::string, std::string> symbol_origins;  // `k`: "dimension 1 of `x`"
  Naming naming;
  std::vector<BlockDemand> demands;  // Of the function's attributes.
  std::optional<Value> result;
  bool failed = false;  // An assertion did not hold: the rest of the function would only repeat it.
  std::optional<LayerCall> layer;

  int id = 0;  // TextStep::frame and TextStep::place of its statements.
  int place = 0;
  TextTrail trail;                                    // To the call that led here.
  const dsl::syntax::Statement* statement = nullptr;  // The one that runs.
  int number = 0;                                     // Which the names of that one have; 0 for none.

  // The path of the thing that is called `name` here: "x.0.1" for `x` in two loops of a frame with an empty path.
  std::string PathOf(const std::string& name) const { return Extended(path, name); }
  // The same for parameters.
  std::string ParametersOf(const std::string& name) const { return Extended(parameters, name); }

  // The way to what the current statement makes under `naming`.
  TextTrail TrailOf(const Naming& naming) const;

  // The origin of what the current statement makes for the text at `span`.
  Origin At(Span span) const { return {span, naming.path}; }

 private:
  std::string Extended(const std::string& base, const std::string& name) const;
};

// What only text reads that is skipped under these conditions is not unused.
void MarkUsed(const dsl::syntax::Expression& skipped, Scope& scope);
void MarkUsed(absl::Span<const dsl::syntax::Statement> skipped, Scope& scope);

// Reports a name that is already defined in the innermost block.
bool IsFree(const dsl::syntax::Identifier& name, const Scope& scope, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_FRAME_FRAME_H_
