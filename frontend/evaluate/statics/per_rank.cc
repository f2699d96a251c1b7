#include "frontend/evaluate/statics/per_rank.h"

#include "absl/strings/str_cat.h"
#include "base/check/check.h"

namespace cleave::frontend {

Value RankByRank(const std::vector<Value>& values, const ir::Graph& graph, Reporter& reporter,
                 const std::function<Value(const std::vector<Value>& of_rank)>& compute) {
  std::vector<Value> ranks;
  for (int64_t rank = 0; rank < ir::RankCount(graph.rank_axes); ++rank) {
    std::vector<Value> of_rank;
    for (const Value& value : values) of_rank.push_back(OnRank(value, rank));
    reporter.SetNote(absl::StrCat("on rank ", rank));
    ranks.push_back(compute(of_rank));
    reporter.SetNote("");
    if (ranks.back().is_poison()) return Value{Poison()};
  }
  std::optional<Value> result = PerRank(std::move(ranks));
  CLEAVE_CHECK(result.has_value()) << "an operation gives values of different kinds on different ranks";
  return *std::move(result);
}

Diagnostic DifferenceBetweenRanks(Code code, std::string message, const dsl::syntax::Expression& expression,
                                  const Value& value, Scope& scope, const ir::Graph& graph) {
  const dsl::syntax::Expression* place = &expression;
  const Value* differing = &value;
  while (differing->is_tuple()) {
    const auto* tuple = std::get_if<dsl::syntax::Tuple>(&place->kind);
    size_t i = 0;
    while (!DiffersBetweenRanks(differing->as_tuple()[i])) ++i;
    differing = &differing->as_tuple()[i];
    if (tuple != nullptr) place = &*tuple->elements[i].value;
  }
  Diagnostic error =
      Error(code, std::move(message)).At(place->span, absl::StrCat("this is ", FirstDifference(*differing, graph)));
  const auto* name = std::get_if<dsl::syntax::Name>(&place->kind);
  const Binding* binding = name ? scope.Find(name->text) : nullptr;
  if (binding != nullptr)
    error.labels.push_back({binding->definition, absl::StrCat("`", name->text, "` comes from here")});
  return error;
}

Diagnostic ShapeDiffersBetweenRanks(std::string message, const dsl::syntax::Expression& expression, const Value& value,
                                    Scope& scope, const ir::Graph& graph) {
  return DifferenceBetweenRanks(Code::kE0702, std::move(message), expression, value, scope, graph)
      .Note("all ranks run one program, on tensors of the same shapes");
}

Diagnostic ProgramDiffersBetweenRanks(std::string message, const dsl::syntax::Expression& expression,
                                      const Value& value, const std::optional<CommunicatingCall>& call, Scope& scope,
                                      const ir::Graph& graph) {
  Diagnostic error = DifferenceBetweenRanks(Code::kE0701, std::move(message), expression, value, scope, graph);
  if (call) {
    error.labels.push_back({call->span, absl::StrCat("ranks would not call `", call->name, "` together")});
  } else {
    error.notes.push_back("all ranks run one program: the same ops on tensors of the same shapes");
  }
  return error;
}

std::optional<Value> ChooseOnRanks(const Value& condition, const Value& then, const Value& otherwise,
                                   const ir::Graph& graph) {
  if (then.is_tuple() && otherwise.is_tuple() && then.as_tuple().size() == otherwise.as_tuple().size()) {
    TupleValue result;
    for (size_t i = 0; i < then.as_tuple().size(); ++i) {
      std::optional<Value> element = ChooseOnRanks(condition, then.as_tuple()[i], otherwise.as_tuple()[i], graph);
      if (!element) return std::nullopt;
      result.elements.push_back(*std::move(element));
    }
    return Value{std::move(result)};
  }
  std::vector<Value> ranks;
  for (int64_t rank = 0; rank < ir::RankCount(graph.rank_axes); ++rank) {
    ranks.push_back(OnRank(std::get<bool>(OnRank(condition, rank).kind) ? then : otherwise, rank));
  }
  return PerRank(std::move(ranks));
}

}  // namespace cleave::frontend
