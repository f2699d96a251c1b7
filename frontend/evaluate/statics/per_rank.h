// Static values that differ between ranks: what is known of each rank is worked out rank by rank. All ranks run one
// program, so nothing that decides what the program is may depend on the rank; the mistakes of doing so are worded
// here.
#ifndef CLEAVE_FRONTEND_EVALUATE_STATICS_PER_RANK_H_
#define CLEAVE_FRONTEND_EVALUATE_STATICS_PER_RANK_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "dsl/syntax/syntax.h"
#include "frontend/manual/primitives.h"
#include "frontend/report/report.h"
#include "frontend/scope/scope.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

// What `compute` makes of the values that each rank of `graph` has; its mistakes get the note "on rank 3". Poison where
// it gives Poison. REQUIRES: it gives values of one kind that a PerRankValue can hold.
Value RankByRank(const std::vector<Value>& values, const ir::Graph& graph, Reporter& reporter,
                 const std::function<Value(const std::vector<Value>& of_rank)>& compute);

// `then` on the ranks where `condition` holds, `otherwise` on the others; tuples element by element. Nothing where the
// values are tensors or of different kinds. REQUIRES: `condition` is a bool on every rank.
std::optional<Value> ChooseOnRanks(const Value& condition, const Value& then, const Value& otherwise,
                                   const ir::Graph& graph);

// The mistake that `expression` has another value on each rank where that cannot be: with its place and, for a name,
// where it was defined. REQUIRES: DiffersBetweenRanks(value).
Diagnostic DifferenceBetweenRanks(Code code, std::string message, const dsl::syntax::Expression& expression,
                                  const Value& value, Scope& scope, const ir::Graph& graph);

// The same for shapes and what decides them (E0702): tensors have the same shape on all ranks.
Diagnostic ShapeDiffersBetweenRanks(std::string message, const dsl::syntax::Expression& expression, const Value& value,
                                    Scope& scope, const ir::Graph& graph);

// The same for what would not be one program (E0701): the branches of `choose`, the passes of a loop. `call`: the first
// call in it for which ranks would wait for each other.
Diagnostic ProgramDiffersBetweenRanks(std::string message, const dsl::syntax::Expression& expression,
                                      const Value& value, const std::optional<CommunicatingCall>& call, Scope& scope,
                                      const ir::Graph& graph);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_STATICS_PER_RANK_H_
