#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {
namespace {

// Bounds on one expansion: far beyond any model, near enough to answer in seconds.
constexpr int64_t kMaxSteps = 2'000'000;
constexpr int kMaxDepth = 2000;  // Of expressions through calls: what the stack holds.

}  // namespace

bool Evaluator::Exhausted(Span span) {
  if (exhausted_) return true;
  std::string why;
  if (++steps_ > kMaxSteps) why = absl::StrCat("expanding it takes more than ", FormatCount(kMaxSteps), " steps");
  if (builder_.graph().ops.size() > kMaxOps) why = absl::StrCat("it has more than ", FormatCount(kMaxOps), " ops");
  if (reporter_.depth() > static_cast<int>(kMaxCallDepth)) {
    why = absl::StrCat("functions call each other more than ", kMaxCallDepth, " deep");
  }
  if (depth_ > kMaxDepth) why = absl::StrCat("its expressions nest more than ", kMaxDepth, " deep through calls");
  if (why.empty()) return false;
  exhausted_ = true;
  reporter_.Report(Error(Code::kE0213, "the model is too large").At(span, absl::StrCat("given up here: ", why)));
  return true;
}

Value Evaluator::Evaluate(const syntax::Expression& expression, Frame& frame) {
  if (Exhausted(expression.span)) return Value{Poison()};
  if (const auto substitute = substitutes_.find(&expression); substitute != substitutes_.end()) {
    return substitute->second;
  }
  ++depth_;
  Value value = EvaluateKind(expression, frame);
  --depth_;
  return value;
}

Value Evaluator::EvaluateKind(const syntax::Expression& expression, Frame& frame) {
  const Span span = expression.span;
  return Match(
      expression.kind, [](const syntax::IntegerLiteral& literal) { return Value{literal.value}; },
      [](const syntax::FloatLiteral& literal) { return Value{literal.value}; },
      [](const syntax::SizeLiteral& literal) { return Value{literal.bytes}; },
      [](const syntax::StringLiteral& literal) { return Value{literal.value}; },
      [](const syntax::BoolLiteral& literal) { return Value{literal.value}; },
      [&](const syntax::Name& name) { return EvaluateName(name.text, span, frame); },
      [&](const syntax::Wildcard&) {
        reporter_.Report(Error(Code::kE0204, "`_` is not a value")
                             .At(span, "expected an expression")
                             .Note("`_` stands for a dimension that is not cut, in `#[layout(…)]`"));
        return Value{Poison()};
      },
      [&](const syntax::Negate& negate) {
        const Value operand = Evaluate(*negate.operand, frame);
        if (operand.is_poison()) return operand;
        if (!operand.is_tensor()) return NegateNumber(operand, span);
        const int first = static_cast<int>(builder_.graph().ops.size());
        const Value result = AddOp(OpKind::kNeg, {{&*negate.operand, operand.as_tensor()}}, {}, span, frame);
        last_operation_ = {span, "-", first, static_cast<int>(builder_.graph().ops.size()), false};
        return result;
      },
      [&](const syntax::Binary& binary) {
        const Value left = Evaluate(*binary.left, frame);
        const Value right = Evaluate(*binary.right, frame);
        if (left.is_poison() || right.is_poison()) return Value{Poison()};
        if (left.is_tensor() || right.is_tensor()) return TensorArithmetic(binary, left, right, span, frame);
        return Arithmetic(binary, left, right);
      },
      [&](const syntax::Call& call) { return EvaluateCall(call, span, frame); },
      [&](const syntax::Index& index) { return EvaluateIndex(index, span, frame); },
      [&](const syntax::Tuple& tuple) { return EvaluateTuple(tuple, frame); },
      [&](const syntax::Map&) {
        reporter_.Report(Error(Code::kE0204, "a map is not a value")
                             .At(span, "expected an expression")
                             .Note("`{ \"name\": … }` stands in `#[region(params = …)]` only"));
        return Value{Poison()};
      },
      [&](const syntax::Attributed& attributed) {
        return EvaluateAttributed(*attributed.operand, attributed.attributes, frame);
      });
}

Value Evaluator::EvaluateName(const std::string& name, Span span, Frame& frame) {
  if (Binding* binding = frame.scope.Find(name)) {
    binding->used = true;
    return binding->value;
  }
  if (std::optional<DType> dtype = ElementTypeNamed(name)) return Value{*dtype};
  if (std::optional<Value> of_ranks = RankName(name, span)) return *std::move(of_ranks);
  Diagnostic error = Error(Code::kE0201, absl::StrCat("unknown name `", name, "`")).At(span, "not defined here");
  if (functions_.Find(name, frame.function).index() != 0) {
    error = Error(Code::kE0201, absl::StrCat("`", name, "` is a function, not a value"))
                .At(span, absl::StrCat("call it: `", name, "(…)`"));
  } else if (frame.rests.count(name) > 0) {
    error.notes.push_back(absl::StrCat("`..", name, "` is a list of dimensions; it can stand in a type only"));
  } else if (auto nearest = NearestName(name, frame.scope.Names())) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  reporter_.Report(std::move(error));
  return Value{Poison()};
}

Value Evaluator::EvaluateTuple(const syntax::Tuple& tuple, Frame& frame) {
  TupleValue result;
  bool poisoned = false;
  for (const syntax::Argument& element : tuple.elements) {
    if (element.name) {
      reporter_.Report(Error(Code::kE0204, "the elements of this tuple have no names")
                           .At(element.name->span, "no name here")
                           .Note("only `mesh = (dp = 4, tp = 2)` names its elements"));
      poisoned = true;
    }
    result.elements.push_back(Evaluate(*element.value, frame));
    poisoned |= result.elements.back().is_poison();
  }
  return poisoned ? Value{Poison()} : Value{std::move(result)};
}

Value Evaluator::EvaluateAttributed(const syntax::Expression& operand, const std::vector<syntax::Attribute>& attributes,
                                    Frame& frame) {
  last_operation_.reset();
  const bool is_region = OpenRegion(attributes, operand, frame);
  Value value = Evaluate(operand, frame);
  if (is_region) value = CloseRegion(std::move(value), operand);
  Attach(attributes, value, frame);
  return value;
}

void Evaluator::DefineArgument(const syntax::Identifier& name, Value value) {
  arguments_.scope.Define({name.text, name.span, BindingKind::kArgument, false, false, std::move(value)});
}

Value Evaluator::EvaluateStatic(const syntax::Expression& expression, Frame* frame) {
  Value value = Evaluate(expression, frame == nullptr ? arguments_ : *frame);
  if (!value.is_tensor()) return value;
  reporter_.Report(Error(Code::kE0204, "a tensor where a static value is expected")
                       .At(expression.span, "must be known when the model is compiled"));
  return Value{Poison()};
}

std::optional<int64_t> Evaluator::EvaluateInt(const syntax::Expression& expression, const std::string& what,
                                              Frame* frame) {
  const Value value = EvaluateStatic(expression, frame);
  if (value.is_int()) return value.as_int();
  if (!value.is_poison()) {
    reporter_.Report(Error(Code::kE0204, absl::StrCat(what, " must be an int"))
                         .At(expression.span, absl::StrCat("this is ", DescribeType(value, graph()))));
  }
  return std::nullopt;
}

std::optional<double> Evaluator::EvaluateNumber(const syntax::Expression& expression, const std::string& what) {
  const Value value = EvaluateStatic(expression);
  if (value.is_number()) return value.as_number();
  if (!value.is_poison()) {
    reporter_.Report(Error(Code::kE0204, absl::StrCat(what, " must be a number"))
                         .At(expression.span, absl::StrCat("this is ", DescribeType(value, graph()))));
  }
  return std::nullopt;
}

}  // namespace cleave::frontend
