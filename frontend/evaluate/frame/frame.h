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
  bool ordinals = false;
  std::map<std::string, int> next_ordinal = {};
  std::optional<std::string> share = {};  // Of the next call of a function: whose parameters it takes.
};

// Parameters whose paths begin with `from` are those whose paths begin with `to`: `#[share("to")]`.
struct SharedPrefix {
  std::string from;
  std::string to;
};

struct Frame {
  const Function* function = nullptr;  // Null in the model.
  std::string path;
  std::vector<int64_t> loop_indices;  // Of the loops around the current statement, outermost first.
  Scope scope;
  std::map<std::string, std::vector<int64_t>> rests;  // `..n`
  std::map<std::string, std::string> symbol_origins;  // `k`: "dimension 1 of `x`"
  Naming naming;
  std::vector<BlockDemand> demands;  // Of the function's attributes.
  std::optional<Value> result;
  std::vector<SharedPrefix> sharings;  // Of the calls that led here, the outermost first.
  bool failed = false;                 // An assertion did not hold: the rest of the function would only repeat it.

  // The path of the thing that is called `name` here: "x.0.1" for `x` in two loops of a frame with an empty path.
  std::string PathOf(const std::string& name) const;

  // The path of the parameter that is taken for the one of this path: itself, unless a call shares parameters.
  std::string SharedPathOf(std::string parameter) const;

  // The origin of what the current statement makes for the text at `span`.
  Origin At(Span span) const { return {span, naming.path}; }
};

// What only text reads that is skipped under these conditions is not unused.
void MarkUsed(const dsl::syntax::Expression& skipped, Scope& scope);
void MarkUsed(absl::Span<const dsl::syntax::Statement> skipped, Scope& scope);

// Reports a name that is already defined in the innermost block.
bool IsFree(const dsl::syntax::Identifier& name, const Scope& scope, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_FRAME_FRAME_H_
