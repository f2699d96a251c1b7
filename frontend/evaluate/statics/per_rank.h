// Static values that differ between ranks are computed rank by rank. All ranks run one program, so nothing that decides
// the program's text may depend on the rank; the messages for such mistakes are here.
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

// Calls `compute` with the values of each rank of `graph`; its mistakes get the note "on rank 3". The result is Poison
// where it returns Poison. REQUIRES: it returns values of one kind that a PerRankValue can hold.
Value RankByRank(const std::vector<Value>& values, const ir::Graph& graph, Reporter& reporter,
                 const std::function<Value(const std::vector<Value>& of_rank)>& compute);

// `then` on the ranks where `condition` holds, `otherwise` on the others; tuples element by element. Nullopt if the
// values are tensors or of different kinds. REQUIRES: `condition` is a bool on every rank.
std::optional<Value> ChooseOnRanks(const Value& condition, const Value& then, const Value& otherwise,
                                   const ir::Graph& graph);

// The error for an `expression` whose value differs between ranks where that is not allowed: with its place and, for a
// name, the place of its definition. REQUIRES: DiffersBetweenRanks(value).
Diagnostic DifferenceBetweenRanks(Code code, std::string message, const dsl::syntax::Expression& expression,
                                  const Value& value, Scope& scope, const ir::Graph& graph);

// The same for shapes, and values that decide them (E0702): tensors must have the same shape on all ranks.
Diagnostic ShapeDiffersBetweenRanks(std::string message, const dsl::syntax::Expression& expression, const Value& value,
                                    Scope& scope, const ir::Graph& graph);

// The same for values that would give ranks different programs (E0701): the branches of `choose`, the passes of a loop.
// `call`: the first call in it for which ranks would wait for each other.
Diagnostic ProgramDiffersBetweenRanks(std::string message, const dsl::syntax::Expression& expression,
                                      const Value& value, const std::optional<CommunicatingCall>& call, Scope& scope,
                                      const ir::Graph& graph);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_STATICS_PER_RANK_H_
