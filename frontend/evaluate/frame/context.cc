#include "frontend/evaluate/frame/context.h"

#include "absl/strings/str_cat.h"

namespace cleave::frontend {

Value Context::EvaluateStatic(const dsl::syntax::Expression& expression, Frame& frame) const {
  Value value = Evaluate(expression, frame);
  if (!value.is_tensor()) return value;
  reporter.Report(Error(Code::kE0204, "a tensor where a static value is expected")
                      .At(expression.span, "must be known when the model is compiled"));
  return Value{Poison()};
}

std::optional<int64_t> Context::EvaluateInt(const dsl::syntax::Expression& expression, const std::string& what,
                                            Frame& frame) const {
  const Value value = demands.Settled(EvaluateStatic(expression, frame));
  if (value.is_int()) return value.as_int();
  if (!value.is_poison()) {
    reporter.Report(Error(Code::kE0204, absl::StrCat(what, " must be an int"))
                        .At(expression.span, absl::StrCat("this is ", DescribeType(value, graph()))));
  }
  return std::nullopt;
}

std::optional<double> Context::EvaluateNumber(const dsl::syntax::Expression& expression, const std::string& what,
                                              Frame& frame) const {
  const Value value = demands.Settled(EvaluateStatic(expression, frame));
  if (value.is_number()) return value.as_number();
  if (!value.is_poison()) {
    reporter.Report(Error(Code::kE0204, absl::StrCat(what, " must be a number"))
                        .At(expression.span, absl::StrCat("this is ", DescribeType(value, graph()))));
  }
  return std::nullopt;
}

IntEvaluator Context::IntsOf(Frame& frame) const {
  return [this, &frame](const dsl::syntax::Expression& expression, const std::string& what) {
    return EvaluateInt(expression, what, frame);
  };
}

}  // namespace cleave::frontend
