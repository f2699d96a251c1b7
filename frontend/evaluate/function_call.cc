#include "frontend/evaluate/function_call.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/pins/block_pins.h"
#include "frontend/evaluate/records.h"
#include "frontend/evaluate/types/parameter_types.h"
#include "frontend/evaluate/types/types.h"

namespace cleave::frontend {
namespace {

// The type that a signature declares for `value`.
std::string DeclarationOf(const Value& value, const ir::Graph& graph) {
  if (value.is_tensor()) return DescribeType(value, graph);
  if (!value.is_tuple()) return "int";
  return absl::StrCat("(",
                      absl::StrJoin(value.as_tuple(), ", ",
                                    [&](std::string* out, const Value& element) {
                                      absl::StrAppend(out, DeclarationOf(element, graph));
                                    }),
                      ")");
}

// Gives a list of dimensions that only the result has those of the value: the body decides how many there are.
void BindRest(const dsl::syntax::Type& type, const Value& value, Frame& callee, const Context& context) {
  if (!type.dimensions || !value.is_tensor()) return;
  const ir::Shape& shape = context.ops.type(value.as_tensor()).shape;
  const std::vector<dsl::syntax::Dimension>& dimensions = *type.dimensions;
  const auto rest = std::find_if(dimensions.begin(), dimensions.end(),
                                 [](const dsl::syntax::Dimension& dimension) { return dimension.is_rest(); });
  if (rest == dimensions.end() || shape.size() + 1 < dimensions.size()) return;
  const auto begin = shape.begin() + (rest - dimensions.begin());
  callee.rests.try_emplace(std::get<dsl::syntax::Identifier>(rest->kind).text, begin,
                           begin + static_cast<int64_t>(shape.size() + 1 - dimensions.size()));
}

// Whether `result` has the types that the function of `callee` declares: of several results it is a tuple.
bool CheckResult(Value& result, Frame& callee, const Context& context) {
  const std::vector<dsl::syntax::Type>& types = callee.function->syntax->results;
  const std::string of = absl::StrCat(" of `", callee.function->name(), "`");
  if (types.size() == 1) BindRest(types[0], result, callee, context);
  if (types.size() == 1) return CheckType(types[0], result, types[0].span, "the result" + of, callee, context);
  if (!result.is_tuple() || result.as_tuple().size() != types.size()) {
    context.reporter.Report(
        Error(Code::kE0204, absl::StrCat("the result", of, " is ", DescribeType(result, context.graph()),
                                         ", not a tuple of ", types.size()))
            .At(Cover(types.front().span, types.back().span), absl::StrCat(types.size(), " results are declared")));
    return false;
  }
  std::vector<Value>& elements = std::get<TupleValue>(result.kind).elements;
  bool ok = true;
  for (size_t i = 0; i < types.size(); ++i) {
    ok &= CheckType(types[i], elements[i], types[i].span, absl::StrCat("result ", i, of), callee, context);
  }
  return ok;
}

// The parameter that takes the argument; null for none.
const dsl::syntax::Parameter* ParameterOf(const dsl::syntax::Argument& argument,
                                          const std::vector<const dsl::syntax::Argument*>& matched,
                                          const dsl::syntax::Function& function) {
  const auto found = std::find(matched.begin(), matched.end(), &argument);
  return found == matched.end() ? nullptr : &function.parameters[static_cast<size_t>(found - matched.begin())];
}

}  // namespace

bool OwnsParameters(const dsl::syntax::Call& call, const Frame& frame, Pieces& pieces) {
  const auto owns = [&](const dsl::syntax::Expression& expression) {
    const Value* const known = ValueAt(expression, frame.scope);
    if (known != nullptr && known->is_function()) {
      const FunctionValue& value = known->as_function();
      if (value.is_layer) return false;
      const auto* function = std::get_if<const Function*>(&pieces.layers.callee(value));
      return function != nullptr && (*function)->owns_parameters;
    }
    const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind);
    const bool is_value = known != nullptr && &expression != &*call.callee;
    return name != nullptr && !is_value && pieces.functions.OwnsParameters(name->text, frame.function);
  };
  return owns(*call.callee) || std::any_of(call.arguments.begin(), call.arguments.end(),
                                           [&](const dsl::syntax::Argument& each) { return owns(*each.value); });
}

Value CallFunction(const Function& function, const CallSite& site, Pieces& pieces, Layer* layer) {
  const auto& [call, span, frame] = site;
  const Context& context = pieces.context;
  const std::string& name = function.name();
  context.Means(call.callee->span, function.syntax->name.span);
  Naming inner{.path = frame.naming.path, .parameters = frame.naming.parameters};
  const auto matched = layer == nullptr ? MatchArguments(SignatureOf(function), call.arguments, span, context.reporter)
                                        : MatchCall(*layer, site, context.reporter);
  ArgumentValues evaluated;
  for (const dsl::syntax::Argument& argument : call.arguments) {
    const dsl::syntax::Parameter* parameter = matched ? ParameterOf(argument, *matched, *function.syntax) : nullptr;
    if (parameter != nullptr && argument.name) context.Means(argument.name->span, parameter->name.span);
    evaluated[&argument] = parameter != nullptr ? EvaluateArgument(*parameter, *argument.value, frame, context)
                                                : context.Evaluate(*argument.value, frame);
  }
  for (size_t i = 0; layer != nullptr && i < layer->arguments.size(); ++i) {
    if (layer->arguments[i] != nullptr) evaluated[layer->arguments[i]] = layer->values[i];
  }
  if (!matched || function.broken || pieces.budget.Exhausted(span)) return Value{Poison()};

  std::vector<Value> values;
  for (const dsl::syntax::Argument* argument : *matched) {
    values.push_back(argument == nullptr ? Value{Poison()} : evaluated[argument]);
    if (argument != nullptr && values.back().is_poison()) return Value{Poison()};
  }
  if (function.record != nullptr) return MakeRecord(function, *matched, values, frame, pieces);
  // Ordinals follow the order in which calls run: arguments before the call that takes them.
  if (layer == nullptr && frame.naming.ordinals && (function.owns_parameters || OwnsParameters(call, frame, pieces)))
    frame.naming.AddOrdinal(name, inner);

  pieces.regions.Enter(call, inner.path, *matched, evaluated);
  for (size_t i = 0; i < values.size(); ++i) {
    if ((*matched)[i] != nullptr) values[i] = evaluated[(*matched)[i]];
  }

  Frame callee;
  callee.function = &function;
  callee.id = pieces.numbers.NewFrame();
  if (layer == nullptr) {
    callee.layer = frame.layer;
    callee.trail = frame.TrailOf(frame.naming);
    callee.place = pieces.numbers.Within(frame.place, frame.statement);
  } else {
    inner.parameters = layer->parameters;
    const bool again = layer->again || layer->first.has_value();
    if (!layer->first.has_value()) layer->first = span;
    callee.layer = LayerCall{.again = again, .first = *layer->first, .made_in = layer->made_in};
    callee.trail = layer->trail;
    callee.place = layer->place;
  }
  callee.path = inner.path;
  callee.parameters = inner.parameters;
  callee.naming = inner;
  const int first = context.ops.size();
  if (!BindArguments(function, *matched, values, callee, context)) return Value{Poison()};

  const OpWriter::Inside inside = context.ops.EnterCall();
  context.reporter.EnterCall(span, name);
  callee.scope.Push();
  callee.demands = PinArguments(function, callee.scope, context.IntsOf(callee), pieces.pins);
  context.interpreter.Run(function.syntax->body, callee);
  WarnOfUnused(callee.scope.Pop(), context.reporter);
  Value result = callee.result.value_or(Value{Poison()});
  PinOpsFrom(first, {result}, callee.demands, pieces.pins);
  if (callee.failed || pieces.budget.is_exhausted()) {
    result = Value{Poison()};
  } else if (!callee.result && !function.syntax->results.empty()) {
    context.reporter.Report(Error(Code::kE0211, absl::StrCat("function `", name, "` ends without `return`"))
                                .At(function.syntax->body_end, "expected `return …;` before this brace"));
  } else if (callee.result && !result.is_poison()) {
    if (function.syntax->results.empty()) {
      context.reporter.Report(
          Error(Code::kE0211, absl::StrCat("function `", name, "` returns a value but declares none"))
              .At(function.syntax->name.span, "the signature has no `->`")
              .Help(absl::StrCat("declare it: `-> ", DeclarationOf(result, context.graph()), "`")));
      result = Value{Poison()};
    } else if (!CheckResult(result, callee, context)) {
      result = Value{Poison()};
    }
  }
  context.reporter.LeaveCall();
  context.ops.EndOperation(span, name, first);
  return result;
}

void WarnOfUnused(const std::vector<Binding>& bindings, Reporter& reporter) {
  for (const Binding& binding : bindings) {
    if (binding.used || binding.name[0] == '_' || binding.value.is_poison()) continue;
    if (binding.kind == BindingKind::kLet) {
      reporter.Report(Warning(Code::kW0611, absl::StrCat("`", binding.name, "` is never used"))
                          .At(binding.definition, "defined here")
                          .Help(absl::StrCat("if that is meant, call it `_", binding.name, "`")));
    } else if (binding.kind == BindingKind::kInput) {
      reporter.Report(Warning(Code::kW0612, absl::StrCat("input `", binding.name, "` is never used"))
                          .At(binding.definition, "defined here"));
    } else if (binding.kind == BindingKind::kParameter || binding.kind == BindingKind::kState) {
      const bool is_state = binding.kind == BindingKind::kState;
      reporter.Report(
          Warning(Code::kW0613, absl::StrCat(is_state ? "state" : "parameter", " `", binding.name, "` is never used"))
              .At(binding.definition, "defined here"));
    }
  }
}

}  // namespace cleave::frontend
