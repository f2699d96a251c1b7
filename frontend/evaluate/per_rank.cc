// Static values that differ between ranks: what is known of each rank is worked out rank by rank. All ranks run one
// program, so nothing that decides what the program is may hang on the rank.
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/manual/primitives.h"

namespace cleave::frontend {

Value Evaluator::RankByRank(const std::vector<Value>& values,
                            const std::function<Value(const std::vector<Value>&)>& compute) {
  std::vector<Value> ranks;
  for (int64_t rank = 0; rank < world(); ++rank) {
    std::vector<Value> own;
    for (const Value& value : values) own.push_back(OnRank(value, rank));
    reporter_.SetNote(absl::StrCat("on rank ", rank));
    ranks.push_back(compute(own));
    reporter_.SetNote("");
    if (ranks.back().is_poison()) return Value{Poison()};
  }
  std::optional<Value> result = PerRank(std::move(ranks));
  CLEAVE_CHECK(result.has_value()) << "an operation gives values of different kinds on different ranks";
  return *std::move(result);
}

// `expression` is worth something else on each rank where that cannot be: says so with its place and, for a name, where
// it comes from.
Diagnostic Evaluator::Differs(Code code, std::string message, const syntax::Expression& expression, const Value& value,
                              Frame& frame) {
  const syntax::Expression* part = &expression;
  const Value* worth = &value;
  while (worth->is_tuple()) {
    const auto* tuple = std::get_if<syntax::Tuple>(&part->kind);
    size_t i = 0;
    while (!DiffersBetweenRanks(worth->as_tuple()[i])) ++i;
    worth = &worth->as_tuple()[i];
    if (tuple != nullptr) part = &*tuple->elements[i].value;
  }
  Diagnostic error =
      Error(code, std::move(message)).At(part->span, absl::StrCat("this is ", FirstDifference(*worth, graph())));
  const auto* name = std::get_if<syntax::Name>(&part->kind);
  const Binding* binding = name ? frame.scope.Find(name->text) : nullptr;
  if (binding != nullptr)
    error.labels.push_back({binding->definition, absl::StrCat("`", name->text, "` comes from here")});
  return error;
}

// What would not be the same program on all ranks: the branches of `choose`, the passes of a loop.
void Evaluator::ReportDiffering(std::string message, const syntax::Expression& expression, const Value& value,
                                const std::optional<CommunicatingCall>& call, Frame& frame) {
  Diagnostic error = Differs(Code::kE0701, std::move(message), expression, value, frame);
  if (call) {
    error.labels.push_back({call->span, absl::StrCat("ranks would not call `", call->name, "` together")});
  } else {
    error.notes.push_back("all ranks run one program: the same ops on tensors of the same shapes");
  }
  reporter_.Report(std::move(error));
}

// Tensors have the same shape on all ranks.
void Evaluator::ReportShape(std::string message, const syntax::Expression& expression, const Value& value,
                            Frame& frame) {
  reporter_.Report(Differs(Code::kE0702, std::move(message), expression, value, frame)
                       .Note("all ranks run one program, on tensors of the same shapes"));
}

// A choice between static values under a condition that differs between ranks: both are expanded. Tuples element by
// element; nothing where the values are tensors or of different kinds.
std::optional<Value> Evaluator::ChooseOnRanks(const Value& condition, const Value& then, const Value& otherwise) {
  if (then.is_tuple() && otherwise.is_tuple() && then.as_tuple().size() == otherwise.as_tuple().size()) {
    TupleValue result;
    for (size_t i = 0; i < then.as_tuple().size(); ++i) {
      std::optional<Value> element = ChooseOnRanks(condition, then.as_tuple()[i], otherwise.as_tuple()[i]);
      if (!element) return std::nullopt;
      result.elements.push_back(*std::move(element));
    }
    return Value{std::move(result)};
  }
  std::vector<Value> ranks;
  for (int64_t rank = 0; rank < world(); ++rank) {
    ranks.push_back(OnRank(std::get<bool>(OnRank(condition, rank).kind) ? then : otherwise, rank));
  }
  return PerRank(std::move(ranks));
}

Value Evaluator::ChoosePerRank(const syntax::Expression& condition, const Value& truth, const syntax::Expression& then,
                               const syntax::Expression& otherwise, Frame& frame) {
  const Value a = Evaluate(then, frame);
  const Value b = Evaluate(otherwise, frame);
  if (a.is_poison() || b.is_poison()) return Value{Poison()};
  if (std::optional<Value> result = ChooseOnRanks(truth, a, b)) return *std::move(result);
  if (!a.is_tensor() && !b.is_tensor() && !(a.is_tuple() && b.is_tuple())) {
    reporter_.Report(Error(Code::kE0204, "`choose` between values of different kinds")
                         .At(then.span, absl::StrCat("this is ", DescribeType(a, graph())))
                         .At(otherwise.span, absl::StrCat("this is ", DescribeType(b, graph())))
                         .Note("the condition differs between ranks, so the value has one kind on all of them"));
    return Value{Poison()};
  }
  auto call = FirstCommunication(then, functions_, frame.function);
  if (!call) call = FirstCommunication(otherwise, functions_, frame.function);
  ReportDiffering("`choose` between tensors by a condition that differs between ranks", condition, truth, call, frame);
  return Value{Poison()};
}

// A number that differs between ranks, next to a tensor: a scalar of which every rank has its own.
OpId Evaluator::AddRankValue(const Value& value, Span span, const Frame& frame) {
  std::vector<double> values;
  for (const Value& each : value.as_per_rank()) values.push_back(each.as_number());
  const Value result = AddOp(OpKind::kRankValue, {}, {{attribute::kValues, std::move(values)}}, span, frame);
  expansion_.rank_places[result.as_tensor()] = span;
  return result.as_tensor();
}

}  // namespace cleave::frontend
