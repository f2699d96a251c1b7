#include "frontend/evaluate/expressions.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "frontend/evaluate/calls.h"
#include "frontend/evaluate/pins/attach.h"
#include "frontend/evaluate/records.h"
#include "frontend/evaluate/statics/arithmetic.h"
#include "frontend/evaluate/statics/logic.h"
#include "frontend/evaluate/statics/step_formula.h"
#include "frontend/evaluate/tensors/operators.h"
#include "frontend/evaluate/tensors/subscripts.h"

namespace cleave::frontend {
namespace {

Value EvaluateName(const std::string& name, Span span, Frame& frame, Pieces& pieces) {
  const Context& context = pieces.context;
  if (Binding* binding = frame.scope.Find(name)) {
    binding->used = true;
    return binding->value;
  }
  if (std::optional<ir::DType> dtype = ElementTypeNamed(name)) return Value{*dtype};
  if (std::optional<Value> of_ranks = RankName(name, span, pieces.model, context.graph(), context.reporter))
    return *std::move(of_ranks);
  if (name == "step" && pieces.optimizing.has_value()) return pieces.optimizing->step;
  if (name == "generating") return Value{pieces.generates};
  const Callee callee = pieces.functions.Find(name, frame.function);
  const auto* op = std::get_if<const ir::OpDefinition*>(&callee);
  const bool is_source = op != nullptr && (*op)->op_class == ir::OpClass::kSource;
  // `step` is the number of the step, where there is one.
  if (callee.index() != 0 && !is_source && name != "step") return pieces.layers.Add(name, callee);
  Diagnostic error = Error(Code::kE0201, absl::StrCat("unknown name `", name, "`")).At(span, "not defined here");
  if (name == "step") {
    error.notes.push_back("the number of the training step is known in an optimizer and in its learning rate");
  } else if (frame.rests.count(name) > 0) {
    error.notes.push_back(absl::StrCat("`..", name, "` is a list of dimensions; it can only be used in a type"));
  } else if (auto nearest = NearestName(name, frame.scope.Names())) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  context.reporter.Report(std::move(error));
  return Value{Poison()};
}

Value EvaluateTuple(const dsl::syntax::Tuple& tuple, Frame& frame, const Context& context) {
  TupleValue result;
  bool poisoned = false;
  for (const dsl::syntax::Argument& element : tuple.elements) {
    if (element.name) {
      context.reporter.Report(Error(Code::kE0204, "the elements of this tuple have no names")
                                  .At(element.name->span, "no name here")
                                  .Note("only `mesh = (dp = 4, tp = 2)` names its elements"));
      poisoned = true;
    }
    result.elements.push_back(context.Evaluate(*element.value, frame));
    poisoned |= result.elements.back().is_poison();
  }
  context.ops.ForgetOperation();  // That of an element is not that of the tuple.
  return poisoned ? Value{Poison()} : Value{std::move(result)};
}

// As in other languages, an operand that decides the value keeps the other one from being evaluated.
Value EvaluateLogic(const dsl::syntax::Binary& binary, Span span, Frame& frame, const Context& context) {
  const Value left = context.Evaluate(*binary.left, frame);
  if (Decides(binary.op, left)) {
    MarkUsed(*binary.right, frame.scope);
    return left;
  }
  const Value right = context.Evaluate(*binary.right, frame);
  if (left.is_poison() || right.is_poison()) return Value{Poison()};
  if (left.is_tensor() || right.is_tensor()) {
    return TensorLogic(binary, left, right, frame.At(span), context.ops, context.reporter);
  }
  return Logic(binary, left, right, context.graph(), context.reporter);
}

Value EvaluateKind(const dsl::syntax::Expression& expression, Frame& frame, Pieces& pieces) {
  const Context& context = pieces.context;
  const Span span = expression.span;
  return Match(
      expression.kind, [](const dsl::syntax::IntegerLiteral& literal) { return Value{literal.value}; },
      [](const dsl::syntax::FloatLiteral& literal) { return Value{literal.value}; },
      [](const dsl::syntax::SizeLiteral& literal) { return Value{literal.bytes}; },
      [](const dsl::syntax::TimeLiteral& literal) { return Value{literal.seconds}; },
      [](const dsl::syntax::StringLiteral& literal) { return Value{literal.value}; },
      [](const dsl::syntax::BoolLiteral& literal) { return Value{literal.value}; },
      [&](const dsl::syntax::Name& name) { return EvaluateName(name.text, span, frame, pieces); },
      [&](const dsl::syntax::Wildcard&) {
        context.reporter.Report(Error(Code::kE0204, "`_` is not a value")
                                    .At(span, "expected an expression")
                                    .Note("`_` stands for a dimension that is not cut, in `#[layout(…)]`"));
        return Value{Poison()};
      },
      [&](const dsl::syntax::Negate& negate) {
        const Value operand = context.Evaluate(*negate.operand, frame);
        if (operand.is_poison()) return operand;
        if (!operand.is_tensor()) return NegateNumber(operand, span, context.graph(), context.reporter);
        return TensorNegate({&*negate.operand, operand.as_tensor()}, frame.At(span), context.ops);
      },
      [&](const dsl::syntax::Not& negation) {
        const Value operand = context.Evaluate(*negation.operand, frame);
        if (operand.is_poison()) return operand;
        if (!operand.is_tensor()) return NegateBool(operand, span, context.graph(), context.reporter);
        return TensorNot({&*negation.operand, operand.as_tensor()}, frame.At(span), context.ops);
      },
      [&](const dsl::syntax::Binary& binary) {
        if (IsLogic(binary.op)) return EvaluateLogic(binary, span, frame, context);
        const Value left = context.Evaluate(*binary.left, frame);
        const Value right = context.Evaluate(*binary.right, frame);
        if (left.is_poison() || right.is_poison()) return Value{Poison()};
        if (left.is_tensor() || right.is_tensor())
          return TensorArithmetic(binary, left, right, frame.At(span), context.ops, context.reporter);
        return Arithmetic(binary, left, right, context.graph(), context.reporter);
      },
      [&](const dsl::syntax::Call& call) {
        return EvaluateCall({call, span, frame}, pieces);
      },
      [&](const dsl::syntax::Layer& layer) { return EvaluateLayer(layer, span, frame, pieces); },
      [&](const dsl::syntax::Index& index) { return EvaluateIndex(index, span, frame, context); },
      [&](const dsl::syntax::Tuple& tuple) { return EvaluateTuple(tuple, frame, context); },
      [&](const dsl::syntax::Field& field) { return EvaluateField(field, frame, pieces); },
      [&](const dsl::syntax::With& with) { return EvaluateWith(with, span, frame, pieces); },
      [&](const dsl::syntax::Map&) {
        context.reporter.Report(Error(Code::kE0204, "a map is not a value")
                                    .At(span, "expected an expression")
                                    .Note("`{ \"name\": … }` is only used in `#[region(params = …)]`"));
        return Value{Poison()};
      },
      [&](const dsl::syntax::Attributed& attributed) {
        return EvaluateAttributed(*attributed.operand, attributed.attributes, frame, pieces);
      });
}

}  // namespace

Value EvaluateExpression(const dsl::syntax::Expression& expression, Frame& frame, Pieces& pieces) {
  // What is made here is named by the path.
  constexpr size_t kNameOfAStep = 128;
  const auto steps = static_cast<int64_t>(1 + frame.naming.path.size() / kNameOfAStep);
  if (pieces.budget.Exhausted(expression.span, steps)) return Value{Poison()};
  if (const Value* of_element = pieces.vmap.ValueFor(expression)) return *of_element;
  pieces.budget.Enter();
  Value value = EvaluateKind(expression, frame, pieces);
  pieces.budget.Leave();
  pieces.context.Saw(expression.span, value);
  const int64_t elements = ElementCount(value);
  if (elements > 0 && pieces.budget.Exhausted(expression.span, elements)) return Value{Poison()};
  return value;
}

Value EvaluateAttributed(const dsl::syntax::Expression& operand, const std::vector<dsl::syntax::Attribute>& attributes,
                         Frame& frame, Pieces& pieces) {
  const Context& context = pieces.context;
  context.ops.ForgetOperation();
  const bool is_region = pieces.regions.Open(attributes, operand, pieces.vmap.is_mapped(), context.IntsOf(frame));
  Value value = context.Evaluate(operand, frame);
  if (is_region) value = pieces.regions.Close(std::move(value), operand, pieces.sources.parameters());
  Attach(attributes, context.ops.last_operation(), value, context.IntsOf(frame), pieces.pins);
  return value;
}

}  // namespace cleave::frontend
