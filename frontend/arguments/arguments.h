// Matches the arguments of a call with those that a callee takes: functions, ops, initialisers, data sources,
// optimizers and attributes all go through here, so that their error messages are alike.
#ifndef CLEAVE_FRONTEND_ARGUMENTS_ARGUMENTS_H_
#define CLEAVE_FRONTEND_ARGUMENTS_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/report/report.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {

struct FormalArgument {
  std::string name;
  std::string text;  // As a signature shows it: "units: int", "transpose_b: bool = false".
  bool required = true;
  std::string by_name = {};  // Where it is given by name only: what it means, told after a mistake. Else empty.
  std::string former_name = {};
};

struct Signature {
  std::string callee;
  std::vector<FormalArgument> arguments = {};
  std::string result = {};              // " -> f32[..n, units]", " -> (f32[n], int)", or empty.
  std::optional<Span> definition = {};  // Its place in the user's file, if it is there.
  std::string what = "argument";        // What it takes, in messages.

  std::string note = {};  // A note that helps after a mistake, or empty.
  bool has_rest = false;  // Whether the last argument takes all arguments by position from there on; MatchArguments
                          // returns the first.

  // "dense(x: f32[..n, k], units: int) -> f32[..n, units]"
  std::string ToString() const;
};

// For each formal argument the one that was given, or null for a default. Arguments by position come first, and each
// name is given once. Nullopt after a mistake, which has been reported.
std::optional<std::vector<const dsl::syntax::Argument*>> MatchArguments(const Signature& signature,
                                                                        absl::Span<const dsl::syntax::Argument> given,
                                                                        Span call, Reporter& reporter);

FormalArgument FormalOf(const dsl::syntax::Parameter& parameter);
Signature SignatureOf(const dsl::syntax::Function& function);
Signature SignatureOf(const ir::OpDefinition& op);

// A type as it is written: "f32[..n, k]".
std::string TypeText(const dsl::syntax::Type& type);

// The results of a function as they are written: "f32[n]", "(f32[n], int)". REQUIRES: there are some.
std::string TypesText(const std::vector<dsl::syntax::Type>& types);

// An expression as it is written, on one line, with the parentheses that it needs: "2 * (n + 1)".
std::string ExpressionText(const dsl::syntax::Expression& expression);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_ARGUMENTS_ARGUMENTS_H_
