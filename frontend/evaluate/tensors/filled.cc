#include "frontend/evaluate/tensors/filled.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/statics/per_rank.h"
#include "frontend/initializers/initializers.h"

namespace cleave::frontend {
namespace {

// The number of each word; `full` is given it.
std::optional<double> NumberOf(const std::string& callee) {
  if (callee == "zeros") return 0;
  if (callee == "ones") return 1;
  return std::nullopt;
}

Value Mistake(const std::string& message, const dsl::syntax::Expression& place, const Value& value,
              const Context& context) {
  if (!value.is_poison()) {
    context.reporter.Report(
        Error(Code::kE0204, message).At(place.span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
  }
  return Value{Poison()};
}

}  // namespace

bool IsFilled(const std::string& callee) { return callee == "zeros" || callee == "ones" || callee == "full"; }

Value Filled(const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  const std::string callee = std::get<dsl::syntax::Name>(call.callee->kind).text;
  const std::optional<double> known = NumberOf(callee);
  Signature signature{.callee = callee, .arguments = {{"shape", "shape: (int, …)", true}}};
  if (!known) signature.arguments.push_back({"value", "value: float", true});
  signature.arguments.push_back({"dtype", "dtype: element type = f32", false});
  const auto matched = MatchArguments(signature, call.arguments, span, context.reporter);
  if (!matched) return Value{Poison()};

  const dsl::syntax::Expression& sizes = *matched->front()->value;
  const Value shape = context.demands.Settled(context.Evaluate(sizes, frame));
  if (DiffersBetweenRanks(shape)) {
    context.reporter.Report(
        ShapeDiffersBetweenRanks(absl::StrCat("argument `shape` of `", callee, "` differs between ranks"), sizes, shape,
                                 frame.scope, context.graph()));
    return Value{Poison()};
  }
  const std::optional<std::vector<int64_t>> numbers = ToInts(shape);
  if (!numbers)
    return Mistake(absl::StrCat("argument `shape` of `", callee, "` is a tuple of ints"), sizes, shape, context);
  ir::DType dtype = ir::DType::kF32;
  if (const dsl::syntax::Argument* given = matched->back()) {
    const Value value = context.Evaluate(*given->value, frame);
    const auto* named = std::get_if<ir::DType>(&value.kind);
    if (named == nullptr) return Mistake("argument `dtype` is `f32` or `i32`", *given->value, value, context);
    dtype = *named;
  }
  double number = known.value_or(0);
  if (!known) {
    const dsl::syntax::Expression& expression = *(*matched)[1]->value;
    const Value value = context.demands.Settled(context.Evaluate(expression, frame));
    if (!value.is_number()) return Mistake("argument `value` of `full` is a number", expression, value, context);
    number = value.as_number();
    if (dtype == ir::DType::kI32 && !IsI32(number)) {
      context.reporter.Report(Error(Code::kE0508, "a number that i32 does not have")
                                  .At(expression.span, absl::StrCat("this is ", ValueText(value, context.graph()))));
      return Value{Poison()};
    }
  }
  const int first = context.ops.size();
  const ir::OpId constant = context.ops.AddConstant(dtype, number, frame.At(span));
  const Value result = context.ops.AddOp(ir::OpKind::kBroadcastTo, {{nullptr, constant}},
                                         {{ir::attribute::kShape, *numbers}}, frame.At(span));
  context.ops.EndOperation(span, callee, first);
  return result;
}

}  // namespace cleave::frontend
