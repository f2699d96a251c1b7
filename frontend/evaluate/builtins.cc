#include "frontend/evaluate/builtins.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/statics/arithmetic.h"
#include "frontend/evaluate/statics/per_rank.h"
#include "frontend/evaluate/statics/step_formula.h"

namespace cleave::frontend {
namespace {

Value ChoosePerRank(const dsl::syntax::Expression& condition, const Value& truth, const dsl::syntax::Expression& then,
                    const dsl::syntax::Expression& otherwise, Frame& frame, const FunctionTable& functions,
                    const Context& context) {
  const Value a = context.Evaluate(then, frame);
  const Value b = context.Evaluate(otherwise, frame);
  if (a.is_poison() || b.is_poison()) return Value{Poison()};
  if (std::optional<Value> result = ChooseOnRanks(truth, a, b, context.graph())) return *std::move(result);
  if (!a.is_tensor() && !b.is_tensor() && !(a.is_tuple() && b.is_tuple())) {
    context.reporter.Report(Error(Code::kE0204, "`choose` between values of different kinds")
                                .At(then.span, absl::StrCat("this is ", DescribeType(a, context.graph())))
                                .At(otherwise.span, absl::StrCat("this is ", DescribeType(b, context.graph())))
                                .Note("the condition differs between ranks, so the value has one kind on all of them"));
    return Value{Poison()};
  }
  auto call = FirstCommunication(then, functions, frame.function);
  if (!call) call = FirstCommunication(otherwise, functions, frame.function);
  context.reporter.Report(
      ProgramDiffersBetweenRanks("`choose` between tensors by a condition that differs between ranks", condition, truth,
                                 call, frame.scope, context.graph()));
  return Value{Poison()};
}

// `choose` by a condition that the step decides: between numbers, both of which are evaluated.
Value ChooseOfSteps(const Value& condition, const dsl::syntax::Expression& then,
                    const dsl::syntax::Expression& otherwise, const CallSite& site, const Context& context) {
  const Value a = context.Evaluate(then, site.frame);
  const Value b = context.Evaluate(otherwise, site.frame);
  if (a.is_poison() || b.is_poison()) return Value{Poison()};
  if (std::optional<Value> result = ChooseByStep(condition, a, b, site.span, context.reporter))
    return *std::move(result);
  context.reporter.Report(Error(Code::kE0204, "`choose` between other values than numbers by a condition on the step")
                              .At(then.span, absl::StrCat("this is ", DescribeType(a, context.graph())))
                              .At(otherwise.span, absl::StrCat("this is ", DescribeType(b, context.graph())))
                              .Help("between tensors: `where(step > 10, a, b)`"));
  return Value{Poison()};
}

// The message of an assertion, in which numbers that flags change have their names in braces.
std::string WithNumbers(std::string message, Frame& frame, const Context& context) {
  for (const std::string& name : frame.scope.Names()) {
    const Value& value = frame.scope.Find(name)->value;
    const bool is_named = value.is_of_step() && value.as_of_step().formula.Is(ir::Primitive::kNumber);
    const std::string text =
        is_named ? absl::StrCat("{", value.as_of_step().formula.name(), "}") : ValueText(value, context.graph());
    message = absl::StrReplaceAll(message, {{absl::StrCat("{", name, "}"), text}});
  }
  return message;
}

}  // namespace

Value Floor(const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  static const Signature kSignature{.callee = "floor", .arguments = {{"x", "x: float", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, context.reporter);
  if (!matched) return Value{Poison()};
  const dsl::syntax::Expression& argument = *(*matched)[0]->value;
  const Value value = context.Evaluate(argument, frame);
  if (value.is_poison()) return value;
  if (auto result = StaticFunction("floor", {value}, span, context.graph(), context.reporter))
    return *std::move(result);
  context.reporter.Report(Error(Code::kE0204, "`floor` takes a number")
                              .At(argument.span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
  return Value{Poison()};
}

Value Int(const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  static const Signature kSignature{.callee = "int", .arguments = {{"x", "x: float", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, context.reporter);
  if (!matched) return Value{Poison()};
  const dsl::syntax::Expression& argument = *(*matched)[0]->value;
  const Value given = context.demands.Settled(context.Evaluate(argument, frame));
  const auto whole = [&](const Value& value) {
    if (value.is_poison() || value.is_int()) return value;
    if (!value.is_number()) {
      Diagnostic error = Error(Code::kE0204, "`int` takes a number")
                             .At(argument.span, absl::StrCat("this is ", DescribeType(value, context.graph())));
      if (value.is_tensor()) error.help.push_back("of a tensor: `cast(x, i32)`");
      context.reporter.Report(std::move(error));
      return Value{Poison()};
    }
    constexpr double kMost = 9007199254740992;  // 2^53, up to which a float has all whole numbers.
    const double number = std::trunc(value.as_number());
    if (std::abs(number) <= kMost) return Value{static_cast<int64_t>(number)};
    context.reporter.Report(Error(Code::kE0208, "`int` of a number beyond 2^53, where not all are whole")
                                .At(argument.span, absl::StrCat("this is ", ValueText(value, context.graph()))));
    return Value{Poison()};
  };
  if (!given.is_per_rank()) return whole(given);
  return RankByRank({given}, context.graph(), context.reporter,
                    [&](const std::vector<Value>& of_rank) { return whole(of_rank[0]); });
}

Value Choose(const CallSite& site, const FunctionTable& functions, const Context& context) {
  const auto& [call, span, frame] = site;
  static const Signature kSignature{
      .callee = "choose",
      .arguments = {{"condition", "condition: bool", true}, {"then", "then", true}, {"otherwise", "otherwise", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, context.reporter);
  if (!matched) return Value{Poison()};
  const dsl::syntax::Expression& condition = *(*matched)[0]->value;
  const Value truth = context.demands.Settled(context.Evaluate(condition, frame));
  if (truth.is_poison()) return truth;
  if (truth.is_per_rank() && std::holds_alternative<bool>(OnRank(truth, 0).kind)) {
    return ChoosePerRank(condition, truth, *(*matched)[1]->value, *(*matched)[2]->value, frame, functions, context);
  }
  if (truth.is_of_step() && truth.as_of_step().is_condition) {
    return ChooseOfSteps(truth, *(*matched)[1]->value, *(*matched)[2]->value, site, context);
  }
  if (!std::holds_alternative<bool>(truth.kind)) {
    context.reporter.Report(Error(Code::kE0204, "the condition of `choose` must be a bool")
                                .At(condition.span, absl::StrCat("this is ", DescribeType(truth, context.graph()))));
    return Value{Poison()};
  }
  return context.Evaluate(*(*matched)[std::get<bool>(truth.kind) ? 1 : 2]->value, frame);
}

Value DimensionCount(const CallSite& site, const Context& context) {
  const Value sizes = ShapeOf(site, context, "ndim");
  return sizes.is_tuple() ? Value{static_cast<int64_t>(sizes.as_tuple().size())} : sizes;
}

Value ShapeOf(const CallSite& site, const Context& context, const std::string& callee) {
  const auto& [call, span, frame] = site;
  const Signature signature{.callee = callee, .arguments = {{"x", "x: tensor", true}}};
  const auto matched = MatchArguments(signature, call.arguments, span, context.reporter);
  if (!matched) return Value{Poison()};
  const dsl::syntax::Expression& argument = *(*matched)[0]->value;
  const Value value = context.Evaluate(argument, frame);
  if (value.is_poison()) return value;
  if (!value.is_tensor()) {
    context.reporter.Report(Error(Code::kE0204, "only a tensor has a shape")
                                .At(argument.span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
    return Value{Poison()};
  }
  TupleValue sizes;
  for (const int64_t size : context.ops.type(value.as_tensor()).shape) sizes.elements.emplace_back().kind = size;
  return Value{std::move(sizes)};
}

void Assert(const CallSite& site, const ManualModel& model, const Context& context) {
  const auto& [call, span, frame] = site;
  static const Signature kSignature{
      .callee = "assert", .arguments = {{"condition", "condition: bool", true}, {"message", "message: string", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, context.reporter);
  if (!matched) return;
  Value condition = context.Evaluate(*(*matched)[0]->value, frame);
  const Value message = context.Evaluate(*(*matched)[1]->value, frame);
  if (condition.is_poison() || message.is_poison()) return;
  const auto* text_of_message = std::get_if<std::string>(&message.kind);
  if (condition.is_of_step() && condition.as_of_step().is_settled() && text_of_message != nullptr) {
    const StepValue of_numbers = condition.as_of_step();
    condition = Value{ValueAtStep(of_numbers, 1) != 0};
    // The program asks it of the numbers that it is given.
    if (condition == Value{true}) {
      context.demands.Add(of_numbers.formula, WithNumbers(*text_of_message, frame, context));
    }
  }
  if (!std::holds_alternative<bool>(OnRank(condition, 0).kind) || !std::holds_alternative<std::string>(message.kind)) {
    context.reporter.Report(Error(Code::kE0204, "`assert` takes a bool and a string")
                                .At(span, absl::StrCat("these are ", DescribeType(condition, context.graph()), " and ",
                                                       DescribeType(message, context.graph()))));
    return;
  }
  int64_t rank = 0;  // The first rank on which it does not hold.
  const int64_t ranks = condition.is_per_rank() ? ir::RankCount(context.graph().rank_axes) : 1;
  while (rank < ranks && std::get<bool>(OnRank(condition, rank).kind)) ++rank;
  if (rank == ranks) return;
  std::string text = std::get<std::string>(message.kind);
  std::vector<std::string> names = frame.scope.Names();
  if (context.graph().is_manual()) names.insert(names.end(), {"world", "rank"});
  for (const std::string& name : names) {
    const std::string placeholder = absl::StrCat("{", name, "}");
    if (!absl::StrContains(text, placeholder)) continue;
    const Binding* binding = frame.scope.Find(name);
    const Value value =
        binding != nullptr ? binding->value : *RankName(name, span, model, context.graph(), context.reporter);
    text = absl::StrReplaceAll(text, {{placeholder, ValueText(OnRank(value, rank), context.graph())}});
  }
  Diagnostic error = Error(Code::kE0212, std::move(text))
                         .At(span, context.reporter.IsUserPlace(span) ? "asserted here" : "asserted by this call");
  if (condition.is_per_rank()) error.notes.push_back(absl::StrCat("on rank ", rank));
  context.reporter.Report(std::move(error));
  frame.failed = frame.function != nullptr;
}

}  // namespace cleave::frontend
